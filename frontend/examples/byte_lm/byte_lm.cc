#include "frontend/examples/byte_lm/byte_lm.h"

namespace oa::examples {
namespace {

using ml::nn::Mode;

// Mean loss of predicting bytes[:, 1:] from the bytes before them.
Result<Matrix> NextByteLoss(Graph& graph, const std::string& prefix, const ByteLm& model,
                            uint64_t rows, Mode mode) {
  const uint64_t length = model.length;
  OA_ASSIGN_OR_RETURN(const Matrix bytes,
                      matrix::cast(graph.Input("bytes", U8, {rows, length + 1}), I32));
  OA_ASSIGN_OR_RETURN(const Matrix given, matrix::slice(bytes, 1, 0, length));
  OA_ASSIGN_OR_RETURN(Matrix following, matrix::slice(bytes, 1, 1, length + 1));
  OA_ASSIGN_OR_RETURN(following, matrix::reshape(following, {-1}));
  OA_ASSIGN_OR_RETURN(const Matrix logits, model.logits(graph, prefix, given, mode));
  return ml::loss::cross_entropy(logits, following);
}

}  // namespace

absl::Status RecordByteLmTraining(Graph& graph, const ByteLm& model) {
  OA_ASSIGN_OR_RETURN(const Matrix loss,
                      NextByteLoss(graph, "", model, model.batch, Mode::kTraining));
  OA_ASSIGN_OR_RETURN(const Matrix norm, RecordStep(graph, loss, model.step));
  graph.Output("loss", loss);
  graph.Output("gradient_norm", norm);
  return graph.status();
}

absl::Status RecordByteLmEvaluation(Graph& graph, const ByteLm& model) {
  OA_ASSIGN_OR_RETURN(const Matrix loss, NextByteLoss(graph, kAverage, model, model.held_out_batch,
                                                      Mode::kEvaluation));
  graph.Output("loss", loss);
  return graph.status();
}

absl::Status RecordByteLmGeneration(Graph& graph, const ByteLm& model) {
  OA_ASSIGN_OR_RETURN(const Matrix bytes,
                      matrix::cast(graph.Input("bytes", U8, {1, model.window}), I32));
  const Matrix last = graph.Input("last", I32, {1});
  const ByteModel& record = model.generation_logits ? model.generation_logits : model.logits;
  OA_ASSIGN_OR_RETURN(Matrix logits, record(graph, kAverage, bytes, Mode::kEvaluation));
  OA_ASSIGN_OR_RETURN(logits, matrix::gather(logits, last));
  graph.Output("logits", logits);
  return graph.status();
}

std::vector<Recording> ByteLmRecordings(const ByteLm& model) {
  return {
      {model.name + "_train", [=](Graph& graph) { return RecordByteLmTraining(graph, model); }},
      {model.name + "_eval", [=](Graph& graph) { return RecordByteLmEvaluation(graph, model); }},
      {model.name + "_generate",
       [=](Graph& graph) { return RecordByteLmGeneration(graph, model); }}};
}

}  // namespace oa::examples
