#include "frontend/autograd.h"

#include "absl/strings/str_cat.h"
#include "ir/differentiate.h"
#include "ir/graph.h"

namespace oa::ml::autograd {

Result<Matrix> Gradients::Of(const Matrix& value) const {
  for (const auto& [of, gradient] : values_) {
    if (of.graph() == value.graph() && of.id() == value.id()) return gradient;
  }
  return absl::NotFoundError(
      "backward: no gradient of this value was asked for, or the root does not depend on it");
}

Result<Matrix> Gradients::Of(const Parameter& parameter) const {
  for (const auto& [of, gradient] : parameters_) {
    if (of.name() == parameter.name()) return gradient;
  }
  return absl::NotFoundError(absl::StrCat("backward: the root does not depend on parameter '",
                                          parameter.name(), "', or it requires no gradient"));
}

Result<Gradients> Backward(const Matrix& root) { return Backward(root, {}); }

Result<Gradients> Backward(const Matrix& root, absl::Span<const Matrix> values) {
  if (root.graph() == nullptr) {
    return absl::InvalidArgumentError("backward: the root belongs to no graph");
  }
  Graph& graph = *root.graph();
  OA_RETURN_IF_ERROR(graph.status());
  std::vector<Parameter> parameters;
  std::vector<ir::ValueId> targets;
  for (const Parameter& parameter : graph.parameters()) {
    if (!parameter.requires_grad()) continue;
    parameters.push_back(parameter);
    targets.push_back(parameter.data().id());
  }
  for (const Matrix& value : values) {
    if (value.graph() != &graph || !value.valid()) {
      return absl::InvalidArgumentError("backward: a value belongs to another graph than the root");
    }
    targets.push_back(value.id());
  }
  OA_ASSIGN_OR_RETURN(std::vector<ir::ValueId> gradients,
                      ir::Differentiate(graph.ir(), root.id(), targets));
  graph.NoteResults(gradients);
  Gradients result;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] == ir::kAbsent) continue;
    const Matrix gradient = graph.Handle(gradients[i]);
    if (i < parameters.size()) {
      result.parameters_.emplace_back(parameters[i], gradient);
    } else {
      result.values_.emplace_back(values[i - parameters.size()], gradient);
    }
  }
  return result;
}

}  // namespace oa::ml::autograd
