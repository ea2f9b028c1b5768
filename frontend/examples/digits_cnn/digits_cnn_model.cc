#include "frontend/examples/digits_cnn/digits_cnn_model.h"

#include <string>

#include "frontend/examples/common/digits_data.h"
#include "frontend/examples/digits_cnn/random_moves.h"

namespace oa::examples {
namespace {

namespace nn = ml::nn;

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
  return OutputDigitsTraining(graph, loss, logits, inputs.labels, options.step);
}

absl::Status RecordDigitsCnnEvaluation(Graph& graph, const DigitsCnnOptions& options) {
  const DigitsInputs inputs(graph, options.batch);
  const Builder builder = {graph, kAverage, nn::Mode::kEvaluation};
  OA_ASSIGN_OR_RETURN(Matrix logits, builder.Logits(inputs.images, options.channels));
  return OutputDigitsEvaluation(graph, logits, inputs.labels);
}

}  // namespace oa::examples
