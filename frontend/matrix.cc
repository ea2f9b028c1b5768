#include "frontend/matrix.h"

#include "absl/strings/str_cat.h"
#include "frontend/record.h"

namespace oa::matrix {
namespace {

using internal::Record;
using internal::RecordIn;
using internal::Signed;
using ir::Attributes;

Attributes Scalar(float value) { return Attributes().F32("scalar", value); }

std::optional<int64_t> SignedOrNone(std::optional<std::size_t> value) {
  if (!value) return std::nullopt;
  return Signed(*value);
}

}  // namespace

Result<Matrix> add(const Matrix& a, const Matrix& b) { return Record("add", {&a, &b}); }
Result<Matrix> sub(const Matrix& a, const Matrix& b) { return Record("sub", {&a, &b}); }
Result<Matrix> mul(const Matrix& a, const Matrix& b) { return Record("mul", {&a, &b}); }
Result<Matrix> div(const Matrix& a, const Matrix& b) { return Record("div", {&a, &b}); }

Result<Matrix> scale(const Matrix& x, float s) { return Record("scale", {&x}, Scalar(s)); }
Result<Matrix> add_scalar(const Matrix& x, float s) {
  return Record("add_scalar", {&x}, Scalar(s));
}
Result<Matrix> sub_scalar(const Matrix& x, float s) {
  return Record("sub_scalar", {&x}, Scalar(s));
}
Result<Matrix> div_scalar(const Matrix& x, float s) {
  return Record("div_scalar", {&x}, Scalar(s));
}
Result<Matrix> pow(const Matrix& x, float s) { return Record("pow", {&x}, Scalar(s)); }
Result<Matrix> clamp_min(const Matrix& x, float s) { return Record("clamp_min", {&x}, Scalar(s)); }
Result<Matrix> clamp_max(const Matrix& x, float s) { return Record("clamp_max", {&x}, Scalar(s)); }

Result<Matrix> neg(const Matrix& x) { return Record("neg", {&x}); }
Result<Matrix> abs(const Matrix& x) { return Record("abs", {&x}); }
Result<Matrix> exp(const Matrix& x) { return Record("exp", {&x}); }
Result<Matrix> log(const Matrix& x) { return Record("log", {&x}); }
Result<Matrix> sqrt(const Matrix& x) { return Record("sqrt", {&x}); }
Result<Matrix> sin(const Matrix& x) { return Record("sin", {&x}); }
Result<Matrix> cos(const Matrix& x) { return Record("cos", {&x}); }
Result<Matrix> reciprocal(const Matrix& x) { return Record("reciprocal", {&x}); }
Result<Matrix> copy(const Matrix& x) { return Record("copy", {&x}); }

Result<Matrix> equal(const Matrix& x, float value) {
  return Record("equal", {&x}, Attributes().F32("value", value));
}
Result<Matrix> greater_equal(const Matrix& x, float value) {
  return Record("greater_equal", {&x}, Attributes().F32("value", value));
}
Result<Matrix> accumulate(const Matrix& dst, const Matrix& src) {
  return Record("accumulate", {&dst, &src});
}

Result<Matrix> mat_mul_nt(const Matrix& a, const Matrix& b) {
  return Record("mat_mul_nt", {&a, &b});
}
Result<Matrix> linear(const Matrix& x, const Matrix& weight, OptMatrix bias) {
  return Record("linear", {&x, &weight, bias});
}
Result<Matrix> matmul(const Matrix& a, const Matrix& b) { return Record("matmul", {&a, &b}); }

Result<Matrix> sum(const Matrix& x, std::optional<std::size_t> axis) {
  return Record("sum", {&x}, Attributes().Optional("axis", SignedOrNone(axis)));
}
Result<Matrix> mean(const Matrix& x, std::optional<std::size_t> axis) {
  return Record("mean", {&x}, Attributes().Optional("axis", SignedOrNone(axis)));
}
Result<Matrix> max(const Matrix& x) { return Record("max", {&x}); }
Result<Matrix> argmax(const Matrix& x) { return Record("argmax", {&x}); }
Result<Matrix> softmax(const Matrix& x, std::size_t axis) {
  return Record("softmax", {&x}, Attributes().I64("axis", Signed(axis)));
}
Result<Matrix> log_softmax(const Matrix& x, std::size_t axis) {
  return Record("log_softmax", {&x}, Attributes().I64("axis", Signed(axis)));
}
Result<Matrix> categorical_accuracy_count(const Matrix& logits, const Matrix& labels) {
  return Record("categorical_accuracy_count", {&logits, &labels});
}

Result<Matrix> gather(const Matrix& table, const Matrix& indices) {
  return Record("gather", {&table, &indices});
}

Result<Matrix> reshape(const Matrix& x, const std::vector<int64_t>& shape) {
  return Record("reshape", {&x}, Attributes().List("shape", shape));
}
Result<Matrix> transpose(const Matrix& x, std::size_t axis0, std::size_t axis1) {
  return Record("transpose", {&x},
                Attributes().I64("axis0", Signed(axis0)).I64("axis1", Signed(axis1)));
}
Result<Matrix> slice(const Matrix& x, std::size_t axis, std::size_t start, std::size_t end) {
  return Record(
      "slice", {&x},
      Attributes().I64("axis", Signed(axis)).I64("start", Signed(start)).I64("end", Signed(end)));
}
Result<Matrix> concat(absl::Span<const Matrix> inputs, std::size_t axis) {
  std::vector<OptMatrix> operands;
  for (const Matrix& input : inputs) operands.push_back(&input);
  return Record("concat", operands, Attributes().I64("axis", Signed(axis)));
}

Result<Matrix> cast(const Matrix& x, DType dtype) {
  return Record("cast", {&x}, Attributes().Token("dtype", DTypeName(dtype)));
}

Result<Matrix> full(Graph& graph, const Shape& shape, float value) {
  std::vector<int64_t> extents;
  for (uint64_t extent : shape) extents.push_back(Signed(extent));
  return RecordIn(graph, "full", Attributes().List("shape", extents).F32("value", value));
}
Result<Matrix> zeros(Graph& graph, const Shape& shape) { return full(graph, shape, 0); }
Result<Matrix> ones(Graph& graph, const Shape& shape) { return full(graph, shape, 1); }
Result<Matrix> fill(const Matrix& dst, float value) {
  return Record("fill", {&dst}, Attributes().F32("value", value));
}

}  // namespace oa::matrix
