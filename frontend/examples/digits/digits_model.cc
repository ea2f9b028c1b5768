#include "frontend/examples/digits/digits_model.h"

namespace oa::examples {
namespace {

constexpr uint64_t kPixels = 64;
constexpr uint64_t kClasses = 10;

struct Classifier {
  Matrix labels;
  Matrix logits;
};

Result<Matrix> Dense(Graph& graph, const std::string& name, const Matrix& x, uint64_t outputs,
                     uint64_t seed) {
  const Parameter weight =
      graph.Param(name + ".weight", {outputs, x.extent(1)}, init::KaimingUniform(seed));
  const Parameter bias = graph.Param(name + ".bias", {outputs}, init::Zeros());
  const Matrix bias_value = bias;
  return matrix::linear(x, weight, &bias_value);
}

Result<Classifier> Forward(Graph& graph, const DigitsOptions& options) {
  const Matrix images = graph.Input("images", U8, {options.batch, kPixels});
  Classifier result;
  result.labels = graph.Input("labels", U8, {options.batch});
  OA_ASSIGN_OR_RETURN(Matrix x, matrix::cast(images, F32));
  OA_ASSIGN_OR_RETURN(x, matrix::scale(x, 1.0f / 16));
  OA_ASSIGN_OR_RETURN(x, Dense(graph, "hidden1", x, options.hidden, options.seed));
  OA_ASSIGN_OR_RETURN(x, ml::matrix::gelu(x));
  OA_ASSIGN_OR_RETURN(x, Dense(graph, "hidden2", x, options.hidden, options.seed + 1));
  OA_ASSIGN_OR_RETURN(x, ml::matrix::gelu(x));
  OA_ASSIGN_OR_RETURN(result.logits, Dense(graph, "classes", x, kClasses, options.seed + 2));
  return result;
}

}  // namespace

absl::Status RecordDigitsTraining(Graph& graph, const DigitsOptions& options) {
  OA_ASSIGN_OR_RETURN(Classifier model, Forward(graph, options));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::cross_entropy(model.logits, model.labels));
  OA_ASSIGN_OR_RETURN(Matrix correct,
                      matrix::categorical_accuracy_count(model.logits, model.labels));
  OA_ASSIGN_OR_RETURN(ml::autograd::Gradients gradients, ml::autograd::Backward(loss));
  OA_ASSIGN_OR_RETURN(Matrix norm, ml::optim::clip_grad_norm(gradients, options.max_norm));
  ml::optim::AdamW optimiser({.learning_rate = options.learning_rate,
                              .weight_decay = options.weight_decay});
  OA_RETURN_IF_ERROR(optimiser.Step(gradients));
  graph.Output("loss", loss);
  graph.Output("correct", correct);
  graph.Output("gradient_norm", norm);
  return graph.status();
}

absl::Status RecordDigitsEvaluation(Graph& graph, const DigitsOptions& options) {
  OA_ASSIGN_OR_RETURN(Classifier model, Forward(graph, options));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::cross_entropy(model.logits, model.labels));
  OA_ASSIGN_OR_RETURN(Matrix correct,
                      matrix::categorical_accuracy_count(model.logits, model.labels));
  OA_ASSIGN_OR_RETURN(Matrix predicted, matrix::argmax(model.logits));
  graph.Output("loss", loss);
  graph.Output("correct", correct);
  graph.Output("predicted", predicted);
  return graph.status();
}

}  // namespace oa::examples
