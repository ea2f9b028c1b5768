#include "frontend/examples/common/training.h"

#include <vector>

namespace oa::examples {
namespace {

// (1 - decay) / (1 - decay^t) in the t-th replay, [1]: the averages' share of the newest value. It
// makes them true means from the first replay on, where a constant share would keep them near 0.
Result<Matrix> NewestShare(Graph& graph, float decay) {
  const State total = graph.State("average_weight", {1}, init::Zeros());  // 1 - decay^t
  OA_ASSIGN_OR_RETURN(Matrix growth, matrix::scale(total, decay - 1));
  OA_ASSIGN_OR_RETURN(growth, matrix::add_scalar(growth, 1 - decay));
  OA_ASSIGN_OR_RETURN(Matrix share, matrix::accumulate(total, growth));
  OA_ASSIGN_OR_RETURN(share, matrix::reciprocal(share));
  return matrix::scale(share, 1 - decay);
}

absl::Status TrackAverages(Graph& graph, float decay) {
  OA_ASSIGN_OR_RETURN(const Matrix share, NewestShare(graph, decay));
  const std::vector<Parameter> parameters = graph.parameters();
  for (const Parameter& parameter : parameters) {
    const Parameter average = graph.Param(kAverage + parameter.name(), parameter.data().shape(),
                                          init::Zeros(), /*requires_grad=*/false);
    OA_ASSIGN_OR_RETURN(Matrix change, matrix::sub(parameter, average));
    OA_ASSIGN_OR_RETURN(change, matrix::mul(change, share));
    OA_RETURN_IF_ERROR(matrix::accumulate(average, change).status());
  }
  return absl::OkStatus();
}

}  // namespace

Result<Matrix> RecordStep(Graph& graph, const Matrix& loss, const StepOptions& options) {
  OA_ASSIGN_OR_RETURN(ml::autograd::Gradients gradients, ml::autograd::Backward(loss));
  OA_ASSIGN_OR_RETURN(Matrix norm, ml::optim::clip_grad_norm(gradients, options.max_norm));
  ml::optim::AdamW optimiser(
      {.learning_rate = options.learning_rate, .weight_decay = options.weight_decay});
  OA_RETURN_IF_ERROR(optimiser.Step(gradients));
  OA_RETURN_IF_ERROR(TrackAverages(graph, options.average_decay));
  return norm;
}

}  // namespace oa::examples
