#include "frontend/examples/digits/digits_model.h"

#include <cstring>
#include <string>
#include <vector>

namespace oa::examples {
namespace {

constexpr int kSide = 8;
constexpr uint64_t kPixels = kSide * kSide;
constexpr uint64_t kClasses = 10;
constexpr int kPatch = 5;
constexpr int kStride = 2;
constexpr uint64_t kPatches = (kSide / kStride) * (kSide / kStride);
constexpr char kAverage[] = "average.";  // in front of the names of averaged parameters

// Flat index of a pixel; outside the image one that gather turns into a zero.
int32_t PixelIndex(int row, int column) {
  const bool inside = row >= 0 && row < kSide && column >= 0 && column < kSide;
  return inside ? row * kSide + column : -1;
}

Matrix IndexConstant(Graph& graph, const std::string& name, const std::vector<int32_t>& indices) {
  std::vector<uint8_t> bytes(indices.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), indices.data(), bytes.size());
  return graph.Constant(name, I32, {indices.size()}, std::move(bytes));
}

// Grey values to zero mean and unit variance per image.
Result<Matrix> Normalise(const Matrix& images) {
  OA_ASSIGN_OR_RETURN(Matrix x, matrix::cast(images, F32));
  OA_ASSIGN_OR_RETURN(Matrix mean, matrix::mean(x, 1));
  OA_ASSIGN_OR_RETURN(x, matrix::sub(x, mean));
  OA_ASSIGN_OR_RETURN(Matrix variance, matrix::mul(x, x));
  OA_ASSIGN_OR_RETURN(variance, matrix::mean(variance, 1));
  OA_ASSIGN_OR_RETURN(variance, matrix::add_scalar(variance, 1e-3f));
  OA_ASSIGN_OR_RETURN(Matrix deviation, matrix::sqrt(variance));
  return matrix::div(x, deviation);
}

// x [n, 64] and its eight neighbours, [9 n, 64]; x itself comes first.
Result<Matrix> WithShifts(Graph& graph, const Matrix& x) {
  OA_ASSIGN_OR_RETURN(Matrix pixels, matrix::transpose(x, 0, 1));
  std::vector<Matrix> shifts = {x};
  for (int direction = 0; direction < 9; ++direction) {
    const int down = direction / 3 - 1, right = direction % 3 - 1;
    if (down == 0 && right == 0) continue;
    std::vector<int32_t> indices;
    for (int i = 0; i < kSide * kSide; ++i) {
      indices.push_back(PixelIndex(i / kSide + down, i % kSide + right));
    }
    const Matrix index =
        IndexConstant(graph, "shift" + std::to_string(direction), indices);
    OA_ASSIGN_OR_RETURN(Matrix shifted, matrix::gather(pixels, index));
    OA_ASSIGN_OR_RETURN(shifted, matrix::transpose(shifted, 0, 1));
    shifts.push_back(shifted);
  }
  return matrix::concat(shifts, 0);
}

Result<Matrix> Dense(Graph& graph, const std::string& name, const Matrix& x, uint64_t outputs,
                     uint64_t seed) {
  const Parameter weight = graph.Param(name + ".weight", {outputs, x.shape().back()},
                                       init::KaimingUniform(seed));
  const Parameter bias = graph.Param(name + ".bias", {outputs}, init::Zeros());
  const Matrix bias_value = bias;
  return matrix::linear(x, weight, &bias_value);
}

// x [n, 64] -> features [n, patches * channels].
Result<Matrix> PatchFeatures(Graph& graph, const std::string& prefix, const Matrix& x,
                             const DigitsOptions& options) {
  std::vector<int32_t> indices;
  for (int row = 0; row < kSide; row += kStride) {
    for (int column = 0; column < kSide; column += kStride) {
      for (int i = 0; i < kPatch * kPatch; ++i) {
        indices.push_back(PixelIndex(row + i / kPatch - kPatch / 2, column + i % kPatch - kPatch / 2));
      }
    }
  }
  OA_ASSIGN_OR_RETURN(Matrix pixels, matrix::transpose(x, 0, 1));
  OA_ASSIGN_OR_RETURN(pixels, matrix::gather(pixels, IndexConstant(graph, "patches", indices)));
  OA_ASSIGN_OR_RETURN(pixels, matrix::reshape(pixels, {kPatches, kPatch * kPatch, -1}));
  OA_ASSIGN_OR_RETURN(Matrix patches, matrix::transpose(pixels, 1, 2));
  OA_ASSIGN_OR_RETURN(patches,
                      Dense(graph, prefix + "patch", patches, options.channels, options.seed));
  OA_ASSIGN_OR_RETURN(patches, ml::matrix::relu(patches));
  OA_ASSIGN_OR_RETURN(patches, matrix::transpose(patches, 0, 1));
  return matrix::reshape(patches, {-1, static_cast<int64_t>(kPatches * options.channels)});
}

Result<Matrix> Logits(Graph& graph, const std::string& prefix, const Matrix& x,
                      const DigitsOptions& options) {
  OA_ASSIGN_OR_RETURN(Matrix h, PatchFeatures(graph, prefix, x, options));
  OA_ASSIGN_OR_RETURN(h, Dense(graph, prefix + "hidden", h, options.hidden, options.seed + 1));
  OA_ASSIGN_OR_RETURN(h, ml::matrix::relu(h));
  return Dense(graph, prefix + "classes", h, kClasses, options.seed + 2);
}

// average += (1 - decay) * (parameter - average), for every parameter.
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

absl::Status RecordDigitsTraining(Graph& graph, const DigitsOptions& options) {
  const Matrix images = graph.Input("images", U8, {options.batch, kPixels});
  const Matrix labels = graph.Input("labels", U8, {options.batch});
  OA_ASSIGN_OR_RETURN(Matrix x, Normalise(images));
  OA_ASSIGN_OR_RETURN(x, WithShifts(graph, x));
  OA_ASSIGN_OR_RETURN(Matrix logits, Logits(graph, "", x, options));
  OA_ASSIGN_OR_RETURN(Matrix classes, matrix::cast(labels, I32));
  OA_ASSIGN_OR_RETURN(Matrix all_classes, matrix::concat(std::vector<Matrix>(9, classes), 0));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::cross_entropy(logits, all_classes));
  OA_ASSIGN_OR_RETURN(Matrix unshifted, matrix::slice(logits, 0, 0, options.batch));
  OA_ASSIGN_OR_RETURN(Matrix correct, matrix::categorical_accuracy_count(unshifted, labels));

  OA_ASSIGN_OR_RETURN(ml::autograd::Gradients gradients, ml::autograd::Backward(loss));
  OA_ASSIGN_OR_RETURN(Matrix norm, ml::optim::clip_grad_norm(gradients, options.max_norm));
  ml::optim::AdamW optimiser({.learning_rate = options.learning_rate,
                              .weight_decay = options.weight_decay});
  OA_RETURN_IF_ERROR(optimiser.Step(gradients));
  OA_RETURN_IF_ERROR(TrackAverages(graph, options.average_decay));
  graph.Output("loss", loss);
  graph.Output("correct", correct);
  graph.Output("gradient_norm", norm);
  return graph.status();
}

absl::Status RecordDigitsEvaluation(Graph& graph, const DigitsOptions& options) {
  const Matrix images = graph.Input("images", U8, {options.batch, kPixels});
  const Matrix labels = graph.Input("labels", U8, {options.batch});
  OA_ASSIGN_OR_RETURN(Matrix x, Normalise(images));
  OA_ASSIGN_OR_RETURN(Matrix logits, Logits(graph, kAverage, x, options));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::cross_entropy(logits, labels));
  OA_ASSIGN_OR_RETURN(Matrix correct, matrix::categorical_accuracy_count(logits, labels));
  OA_ASSIGN_OR_RETURN(Matrix predicted, matrix::argmax(logits));
  graph.Output("loss", loss);
  graph.Output("correct", correct);
  graph.Output("predicted", predicted);
  return graph.status();
}

}  // namespace oa::examples
