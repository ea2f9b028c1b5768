#include "frontend/examples/common/training.h"

#include <vector>

namespace oa::examples {
namespace {

absl::Status TrackAverages(Graph& graph, float decay) {
  const std::vector<Parameter> parameters = graph.parameters();
  for (const Parameter& parameter : parameters) {
    const Parameter average = graph.Param(kAverage + parameter.name(), parameter.data().shape(),
                                          init::Zeros(), /*requires_grad=*/false);
    OA_ASSIGN_OR_RETURN(Matrix change, matrix::sub(parameter, average));
    OA_ASSIGN_OR_RETURN(change, matrix::scale(change, 1 - decay));
    OA_RETURN_IF_ERROR(matrix::accumulate(average, change).status());
  }
  return absl::OkStatus();
}

}  // namespace

Result<Matrix> RecordStep(Graph& graph, const Matrix& loss, const StepOptions& options) {
  OA_ASSIGN_OR_RETURN(ml::autograd::Gradients gradients, ml::autograd::Backward(loss));
  OA_ASSIGN_OR_RETURN(Matrix norm, ml::optim::clip_grad_norm(gradients, options.max_norm));
  ml::optim::AdamW optimiser({.learning_rate = options.learning_rate,
                              .weight_decay = options.weight_decay});
  OA_RETURN_IF_ERROR(optimiser.Step(gradients));
  OA_RETURN_IF_ERROR(TrackAverages(graph, options.average_decay));
  return norm;
}

}  // namespace oa::examples
