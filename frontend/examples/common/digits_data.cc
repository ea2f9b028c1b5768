#include "frontend/examples/common/digits_data.h"

namespace oa::examples {

DigitsInputs::DigitsInputs(Graph& graph, uint64_t batch)
    : images(graph.Input("images", U8, {batch, kDigitPixels})),
      labels(graph.Input("labels", U8, {batch})) {}

Result<Matrix> NormaliseDigits(const Matrix& images) {
  OA_ASSIGN_OR_RETURN(Matrix x, matrix::cast(images, F32));
  OA_ASSIGN_OR_RETURN(Matrix mean, matrix::mean(x, 1));
  OA_ASSIGN_OR_RETURN(x, matrix::sub(x, mean));
  OA_ASSIGN_OR_RETURN(Matrix variance, matrix::mul(x, x));
  OA_ASSIGN_OR_RETURN(variance, matrix::mean(variance, 1));
  OA_ASSIGN_OR_RETURN(variance, matrix::add_scalar(variance, 1e-3f));
  OA_ASSIGN_OR_RETURN(Matrix deviation, matrix::sqrt(variance));
  return matrix::div(x, deviation);
}

absl::Status OutputDigitsTraining(Graph& graph, const Matrix& loss, const Matrix& logits,
                                  const Matrix& labels, const StepOptions& step) {
  OA_ASSIGN_OR_RETURN(const Matrix correct, matrix::categorical_accuracy_count(logits, labels));
  OA_ASSIGN_OR_RETURN(const Matrix norm, RecordStep(graph, loss, step));
  graph.Output("loss", loss);
  graph.Output("correct", correct);
  graph.Output("gradient_norm", norm);
  return graph.status();
}

absl::Status OutputDigitsEvaluation(Graph& graph, const Matrix& logits, const Matrix& labels) {
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::cross_entropy(logits, labels));
  OA_ASSIGN_OR_RETURN(Matrix correct, matrix::categorical_accuracy_count(logits, labels));
  OA_ASSIGN_OR_RETURN(Matrix predicted, matrix::argmax(logits));
  graph.Output("loss", loss);
  graph.Output("correct", correct);
  graph.Output("predicted", predicted);
  return graph.status();
}

}  // namespace oa::examples
