#include "tools/common/op_text.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace oa::tools {
namespace {

std::string OperandText(const ir::OpDef& op, const ir::OperandDef& operand) {
  return absl::StrCat(operand.name, operand.variadic ? ".." : "",
                      HasGradient(op, operand) ? "*" : "", operand.optional ? "?" : "",
                      operand.mutated ? "!" : "");
}

bool IsOneOf(const std::string& base, const std::string& listed) {
  if (listed == ir::kElementwise) return absl::StartsWith(base, "elementwise_");
  return base == listed;
}

}  // namespace

std::string DTypesText(ir::DTypeSet set) {
  if (set == ir::kAnyType) return "any";
  std::vector<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    if ((set & ir::Only(dtype)) != 0) names.emplace_back(DTypeName(dtype));
  }
  return absl::StrJoin(names, "|");
}

std::string AttributeText(const ir::AttributeDef& attribute) {
  return absl::StrCat(ir::AttributeKindName(attribute.kind), attribute.tokens.empty() ? "" : ": ",
                      absl::StrJoin(attribute.tokens, ", "));
}

bool HasGradient(const ir::OpDef& op, const ir::OperandDef& operand) {
  return op.adjoint != nullptr && operand.differentiable;
}

std::vector<std::string> OperandMarks(const ir::OpDef& op, const ir::OperandDef& operand) {
  std::vector<std::string> marks = {DTypesText(operand.dtypes)};
  if (operand.optional) marks.push_back("optional");
  if (operand.variadic) marks.push_back("one or more");
  if (operand.mutated) marks.push_back("updated in place");
  if (HasGradient(op, operand)) marks.push_back("has a gradient");
  return marks;
}

std::string CallText(const ir::OpDef& op) {
  std::vector<std::string> operands, attributes, results;
  for (const ir::OperandDef& operand : op.operands) operands.push_back(OperandText(op, operand));
  for (const ir::AttributeDef& attribute : op.attributes) attributes.push_back(attribute.name);
  for (const ir::ResultDef& result : op.results) {
    results.push_back(absl::StrCat(result.name, result.optional ? "?" : ""));
  }
  return absl::StrCat(op.name, "(", absl::StrJoin(operands, ", "),
                      !operands.empty() && !attributes.empty() ? "; " : "",
                      absl::StrJoin(attributes, ", "), ") -> ", absl::StrJoin(results, ", "));
}

std::vector<KernelChoice> KernelChoices(const ir::OpDef& op, const KernelPack& pack,
                                        const DeviceProfile& profile) {
  std::vector<KernelChoice> choices;
  for (const std::string& listed : op.kernels) {
    for (const Kernel& kernel : pack.kernels()) {
      if (!IsOneOf(kernel.base, listed)) continue;
      const auto known =
          std::find_if(choices.begin(), choices.end(),
                       [&](const KernelChoice& choice) { return choice.base == kernel.base; });
      if (known != choices.end()) {
        known->variants.push_back(&kernel);
        continue;
      }
      const absl::StatusOr<const Kernel*> chosen = pack.Select(kernel.base, profile);
      choices.push_back({kernel.base, {&kernel}, chosen.ok() ? *chosen : nullptr});
    }
  }
  return choices;
}

}  // namespace oa::tools
