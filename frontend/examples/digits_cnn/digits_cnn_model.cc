#include "frontend/examples/digits_cnn/digits_cnn_model.h"

#include <string>
#include <vector>

#include "frontend/examples/common/digits_data.h"

namespace oa::examples {
namespace {

namespace nn = ml::nn;

constexpr uint64_t kPaddedSide = kDigitSide + 2;
constexpr uint64_t kPaddedPixels = kPaddedSide * kPaddedSide;

// Images U8 [n, 64] within a border of one background pixel, F32 [n * 100, 1].
Result<Matrix> Padded(Graph& graph, const Matrix& images) {
  const uint64_t n = images.extent(0);
  OA_ASSIGN_OR_RETURN(Matrix x, matrix::cast(images, F32));
  OA_ASSIGN_OR_RETURN(x, matrix::reshape(x, {-1, kDigitSide, kDigitSide}));
  OA_ASSIGN_OR_RETURN(const Matrix row, matrix::zeros(graph, {n, 1, kDigitSide}));
  OA_ASSIGN_OR_RETURN(x, matrix::concat({row, x, row}, 1));
  OA_ASSIGN_OR_RETURN(const Matrix column, matrix::zeros(graph, {n, kPaddedSide, 1}));
  OA_ASSIGN_OR_RETURN(x, matrix::concat({column, x, column}, 2));
  return matrix::reshape(x, {-1, 1});
}

// Index of the pixel of the padded images that each image begins with, F32 [n, 1]: its corner moved
// by 0, 1 or 2 pixels down and right, drawn anew in every replay.
Result<Matrix> RandomCorners(Graph& graph, uint64_t n, uint64_t seed) {
  OA_ASSIGN_OR_RETURN(Matrix moves, matrix::random_uniform(graph, {n, 2}, 0, 3, seed));
  OA_ASSIGN_OR_RETURN(moves, matrix::cast(moves, I32));  // rounds towards 0
  OA_ASSIGN_OR_RETURN(moves, matrix::cast(moves, F32));
  OA_ASSIGN_OR_RETURN(Matrix down, matrix::slice(moves, 1, 0, 1));
  OA_ASSIGN_OR_RETURN(const Matrix right, matrix::slice(moves, 1, 1, 2));
  OA_ASSIGN_OR_RETURN(down, matrix::scale(down, kPaddedSide));
  std::vector<float> corners;
  for (uint64_t i = 0; i < n; ++i) corners.push_back(static_cast<float>(i * kPaddedPixels));
  OA_ASSIGN_OR_RETURN(const Matrix moved, matrix::add(down, right));
  return matrix::add(moved, graph.Constant("corners", {n, 1}, corners));
}

// Images U8 [n, 64] to F32, each moved by -1, 0 or 1 pixels in both directions.
Result<Matrix> RandomlyMoved(Graph& graph, const Matrix& images, uint64_t seed) {
  const uint64_t n = images.extent(0);
  OA_ASSIGN_OR_RETURN(const Matrix padded, Padded(graph, images));
  OA_ASSIGN_OR_RETURN(const Matrix corners, RandomCorners(graph, n, seed));
  std::vector<float> offsets;
  for (uint64_t i = 0; i < kDigitPixels; ++i) {
    offsets.push_back(static_cast<float>(i / kDigitSide * kPaddedSide + i % kDigitSide));
  }
  OA_ASSIGN_OR_RETURN(Matrix indices,
                      matrix::add(corners, graph.Constant("offsets", {1, kDigitPixels}, offsets)));
  OA_ASSIGN_OR_RETURN(indices, matrix::cast(indices, I32));
  OA_ASSIGN_OR_RETURN(const Matrix moved, matrix::gather(padded, indices));
  return matrix::reshape(moved, {-1, kDigitPixels});
}

struct Builder {
  Graph& graph;
  std::string prefix;
  nn::Mode mode;

  // 3x3 convolution that keeps the image's size, batch norm, relu.
  Result<Matrix> Block(const std::string& name, const Matrix& x, uint64_t channels) const {
    const nn::Conv2d conv(graph, prefix + name + ".conv", x.extent(1), channels, 3, {.padding = 1});
    const nn::BatchNorm2d norm(graph, prefix + name + ".norm", channels, mode);
    OA_ASSIGN_OR_RETURN(Matrix y, conv(x));
    OA_ASSIGN_OR_RETURN(y, norm(y));
    return ml::matrix::relu(y);
  }

  // images [n, 64] -> [n, classes].
  Result<Matrix> Logits(const Matrix& images, uint64_t channels) const {
    OA_ASSIGN_OR_RETURN(Matrix x, NormaliseDigits(images));
    OA_ASSIGN_OR_RETURN(x, matrix::reshape(x, {-1, 1, kDigitSide, kDigitSide}));
    OA_ASSIGN_OR_RETURN(x, Block("first", x, channels));
    OA_ASSIGN_OR_RETURN(x, Block("second", x, channels));
    OA_ASSIGN_OR_RETURN(const ml::matrix::MaxPool2dResult pooled,
                        ml::matrix::max_pool_2d(x, 2, 2, 0));
    OA_ASSIGN_OR_RETURN(x, Block("third", pooled.output, 2 * channels));
    OA_ASSIGN_OR_RETURN(x, matrix::reshape(x, {static_cast<int64_t>(x.extent(0)), -1}));
    const nn::Linear classes(graph, prefix + "classes", x.extent(1), kDigitClasses);
    return classes(x);
  }
};

}  // namespace

absl::Status RecordDigitsCnnTraining(Graph& graph, const DigitsCnnOptions& options) {
  const DigitsInputs inputs(graph, options.batch);
  const Builder builder = {graph, "", nn::Mode::kTraining};
  OA_ASSIGN_OR_RETURN(const Matrix images, RandomlyMoved(graph, inputs.images, options.seed));
  OA_ASSIGN_OR_RETURN(Matrix logits, builder.Logits(images, options.channels));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::cross_entropy(logits, inputs.labels));
  OA_ASSIGN_OR_RETURN(Matrix correct, matrix::categorical_accuracy_count(logits, inputs.labels));
  OA_ASSIGN_OR_RETURN(Matrix norm, RecordStep(graph, loss, options.step));
  graph.Output("loss", loss);
  graph.Output("correct", correct);
  graph.Output("gradient_norm", norm);
  return graph.status();
}

absl::Status RecordDigitsCnnEvaluation(Graph& graph, const DigitsCnnOptions& options) {
  const DigitsInputs inputs(graph, options.batch);
  const Builder builder = {graph, kAverage, nn::Mode::kEvaluation};
  OA_ASSIGN_OR_RETURN(Matrix logits, builder.Logits(inputs.images, options.channels));
  return OutputDigitsEvaluation(graph, logits, inputs.labels);
}

}  // namespace oa::examples
