#include "ir/op.h"

#include <utility>

#include "schema/closest_names.h"
#include "schema/status_macros.h"

namespace oa::ir {

std::string NearestOps(absl::string_view name) {
  std::vector<std::string> names;
  names.reserve(OpTable().size());
  for (const OpDef& op : OpTable()) names.push_back(op.name);
  return ClosestNames(name, std::move(names));
}

absl::StatusOr<ValueId> AdjointContext::Emit(absl::string_view op, absl::Span<const ValueId> inputs,
                                             const Attributes& attributes) {
  // An adjoint node carries the label of the call it belongs to.
  Graph::RecordOptions options;
  options.label = graph_.nodes()[node_].label;
  OA_ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                      graph_.Record(op, inputs, attributes, options));
  if (results.size() == 1) return results[0];
  return absl::InternalError(
      absl::StrCat(op, ": has ", results.size(), " results where an adjoint expects one"));
}

absl::Status AdjointContext::EmitBackward(absl::Span<const ValueId> inputs) {
  const Node forward = node();
  const std::string name = absl::StrCat(forward.op->name, "_backward");
  const OpDef* backward = FindOp(name);
  if (backward == nullptr) return absl::InternalError(absl::StrCat("no operator '", name, "'"));
  Graph::RecordOptions options;
  options.label = forward.label;
  std::vector<int> operands;  // of each result
  bool all_wanted = true;
  for (int i = 0; i < static_cast<int>(forward.inputs.size()); ++i) {
    if (!forward.op->operand(i).differentiable) continue;
    options.wanted.push_back(needs(i) || !backward->result(operands.size()).optional);
    all_wanted = all_wanted && options.wanted.back();
    operands.push_back(i);
  }
  if (all_wanted) options.wanted.clear();
  OA_ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                      graph_.Record(name, inputs, forward.attributes, options));
  if (results.size() != operands.size()) {
    return absl::InternalError(absl::StrCat(name, ": has ", results.size(), " results for ",
                                            operands.size(), " differentiable operands"));
  }
  for (size_t k = 0; k < operands.size(); ++k) {
    if (needs(operands[k])) SetGrad(operands[k], results[k]);
  }
  return absl::OkStatus();
}

}  // namespace oa::ir
