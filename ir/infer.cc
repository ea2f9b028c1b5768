// Validation of a call against its operator row, and what a row's infer function may ask for.
#include <cmath>
#include <limits>

#include "ir/op.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

using Operand = InferContext::Operand;

constexpr uint64_t kMaxCount = std::numeric_limits<uint32_t>::max();

// "operand 'x'", or "operand 'list'[2]" for a variadic one.
std::string OperandName(const OpDef& op, size_t i) {
  const OperandDef& def = op.operand(i);
  if (!def.variadic) return absl::StrCat("operand '", def.name, "'");
  return absl::StrCat("operand '", def.name, "'[", i + 1 - op.operands.size(), "]");
}

template <class... Parts>
absl::Status Reject(const OpDef& op, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(op.name, ": ", parts...));
}

// "f32", "u8, u32 or i32".
std::string DTypeSetText(DTypeSet set) {
  std::string text;
  for (int i = 0; i < kDTypeCount; ++i) {
    if ((set & (1u << i)) == 0) continue;
    set &= ~(1u << i);
    const char* separator = text.empty() ? "" : set == 0 ? " or " : ", ";
    absl::StrAppend(&text, separator, DTypeName(static_cast<DType>(i)));
  }
  return text;
}

absl::Status CheckCount(const OpDef& op, size_t given) {
  const size_t rows = op.operands.size();
  const bool variadic = rows > 0 && op.operands.back().variadic;
  if (variadic ? given >= rows : given == rows) return absl::OkStatus();
  return Reject(op, "takes ", variadic ? "at least " : "", rows,
                rows == 1 ? " operand" : " operands", ", got ", given);
}

absl::Status CheckOperand(const OpDef& op, size_t i, const Operand* operand) {
  const OperandDef& def = op.operand(i);
  if (operand == nullptr) {
    return def.optional ? absl::OkStatus() : Reject(op, OperandName(op, i), " is required");
  }
  if ((def.dtypes & Only(operand->dtype)) == 0) {
    return Reject(op, OperandName(op, i), " must be ", DTypeSetText(def.dtypes), ", got ",
                  DTypeName(operand->dtype));
  }
  const std::string problem = ShapeProblem(operand->shape);
  if (!problem.empty()) {
    return Reject(op, OperandName(op, i), " ", TypeText(operand->dtype, operand->shape), " ",
                  problem);
  }
  if (op.allow_empty) return absl::OkStatus();
  for (uint64_t extent : operand->shape) {
    if (extent != 0) continue;
    return Reject(op, OperandName(op, i), " ", TypeText(operand->dtype, operand->shape),
                  " has a zero extent");
  }
  return absl::OkStatus();
}

// A row whose infer declares something its own fields do not allow is a bug of the row.
absl::Status CheckResults(const OpDef& op, const InferContext& context) {
  std::vector<int> written(context.operand_count());
  for (const ResultType& result : context.results()) {
    if (result.in_place) ++written[result.alias_of];
  }
  for (int i = 0; i < context.operand_count(); ++i) {
    const int expected = context.has(i) && op.operand(i).mutated ? 1 : 0;
    if (written[i] == expected) continue;
    return absl::InternalError(absl::StrCat(op.name, ": ", OperandName(op, i), " has ", written[i],
                                            " in-place results, its row asks for ", expected));
  }
  const bool variadic = !op.operands.empty() && op.operands.back().variadic;
  const size_t count = context.results().size();
  if (count > 0 && (variadic || count <= op.results.size())) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(op.name, ": infer declared ", count,
                                          " results, the row has ", op.results.size()));
}

}  // namespace

std::string ShapeProblem(absl::Span<const uint64_t> shape) {
  if (shape.empty()) return "has rank 0; a scalar has shape [1]";
  if (shape.size() > kMaxRank) {
    return absl::StrCat("has rank ", shape.size(), ", the limit is ", kMaxRank);
  }
  bool empty = false;
  for (uint64_t extent : shape) {
    empty |= extent == 0;
    if (extent > kMaxCount) {
      return absl::StrCat("has extent ", extent, ", the limit is ", kMaxCount);
    }
  }
  if (empty) return "";
  uint64_t count = 1;
  for (uint64_t extent : shape) {
    count *= extent;  // at most (2^32-1)^2
    if (count > kMaxCount) return absl::StrCat("has more than ", kMaxCount, " elements");
  }
  return "";
}

absl::Status InferContext::RequireRank(int i, int rank) const {
  if (this->rank(i) == rank) return absl::OkStatus();
  return Fail(OperandText(i), " must have rank ", rank);
}

absl::Status InferContext::RequireShape(int i, const Shape& expected) const {
  if (shape(i) == expected) return absl::OkStatus();
  return Fail(OperandText(i), " must have shape ", ShapeText(expected));
}

absl::Status InferContext::RequireSameShape(int i, int j) const {
  if (shape(i) == shape(j)) return absl::OkStatus();
  return Fail(OperandText(i), " must have the shape of ", OperandText(j));
}

absl::Status InferContext::RequireEpsilon(absl::string_view attribute) const {
  const float epsilon = attributes_.f32(attribute);
  if (std::isfinite(epsilon) && epsilon > 0) return absl::OkStatus();
  return Fail("attribute '", attribute, "' is ", epsilon, ", must be finite and greater than zero");
}

absl::Status InferContext::AddResult(DType dtype, const Shape& shape) {
  const std::string problem = ShapeProblem(shape);
  if (!problem.empty()) {
    return Fail("result '", op_.result(results_.size()).name, "' ", TypeText(dtype, shape), " ",
                problem);
  }
  results_.push_back({dtype, shape, -1, false});
  return absl::OkStatus();
}

absl::Status InferContext::AddView(int i, const Shape& shape) {
  OA_RETURN_IF_ERROR(AddResult(dtype(i), shape));
  const absl::StatusOr<uint64_t> from = ElementCount(this->shape(i));
  const absl::StatusOr<uint64_t> to = ElementCount(shape);
  if (!from.ok() || !to.ok() || *from != *to) {
    results_.pop_back();
    return Fail(OperandText(i), " cannot be viewed as ", ShapeText(shape),
                ", which has another number of elements");
  }
  results_.back().alias_of = i;
  return absl::OkStatus();
}

void InferContext::AddInPlace(int i) { results_.push_back({dtype(i), shape(i), i, true}); }

std::string InferContext::OperandText(int i) const {
  return absl::StrCat(OperandName(op_, i), " ", TypeText(dtype(i), shape(i)));
}

absl::StatusOr<std::vector<ResultType>> InferResults(const OpDef& op,
                                                     std::vector<const Operand*> operands,
                                                     const Attributes& attributes) {
  OA_RETURN_IF_ERROR(CheckCount(op, operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    OA_RETURN_IF_ERROR(CheckOperand(op, i, operands[i]));
  }
  OA_RETURN_IF_ERROR(CheckAttributes(op.name, op.attributes, attributes));
  InferContext context(op, std::move(operands), attributes);
  OA_RETURN_IF_ERROR(op.infer(context));
  OA_RETURN_IF_ERROR(CheckResults(op, context));
  return context.results();
}

}  // namespace oa::ir
