#include "frontend/examples/digits/digits_model.h"

#include <cstring>
#include <string>
#include <vector>

#include "frontend/examples/common/digits_data.h"

namespace oa::examples {
namespace {

constexpr int kSide = kDigitSide;
constexpr int kPatch = 5;
constexpr int kStride = 2;
constexpr uint64_t kPatches = (kSide / kStride) * (kSide / kStride);

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
    const Matrix index = IndexConstant(graph, "shift" + std::to_string(direction), indices);
    OA_ASSIGN_OR_RETURN(Matrix shifted, matrix::gather(pixels, index));
    OA_ASSIGN_OR_RETURN(shifted, matrix::transpose(shifted, 0, 1));
    shifts.push_back(shifted);
  }
  return matrix::concat(shifts, 0);
}

// x [n, 64] -> features [n, patches * channels].
Result<Matrix> PatchFeatures(Graph& graph, const std::string& prefix, const Matrix& x,
                             const DigitsOptions& options) {
  std::vector<int32_t> indices;
  for (int row = 0; row < kSide; row += kStride) {
    for (int column = 0; column < kSide; column += kStride) {
      for (int i = 0; i < kPatch * kPatch; ++i) {
        indices.push_back(
            PixelIndex(row + i / kPatch - kPatch / 2, column + i % kPatch - kPatch / 2));
      }
    }
  }
  OA_ASSIGN_OR_RETURN(Matrix pixels, matrix::transpose(x, 0, 1));
  OA_ASSIGN_OR_RETURN(pixels, matrix::gather(pixels, IndexConstant(graph, "patches", indices)));
  OA_ASSIGN_OR_RETURN(pixels, matrix::reshape(pixels, {kPatches, kPatch * kPatch, -1}));
  OA_ASSIGN_OR_RETURN(Matrix patches, matrix::transpose(pixels, 1, 2));
  const ml::nn::Linear features(graph, prefix + "patch", kPatch * kPatch, options.channels,
                                {.weight = init::KaimingUniform(options.seed)});
  OA_ASSIGN_OR_RETURN(patches, features(patches));
  OA_ASSIGN_OR_RETURN(patches, ml::matrix::relu(patches));
  OA_ASSIGN_OR_RETURN(patches, matrix::transpose(patches, 0, 1));
  return matrix::reshape(patches, {-1, static_cast<int64_t>(kPatches * options.channels)});
}

Result<Matrix> Logits(Graph& graph, const std::string& prefix, const Matrix& x,
                      const DigitsOptions& options) {
  OA_ASSIGN_OR_RETURN(Matrix h, PatchFeatures(graph, prefix, x, options));
  const ml::nn::Linear hidden(graph, prefix + "hidden", kPatches * options.channels, options.hidden,
                              {.weight = init::KaimingUniform(options.seed + 1)});
  OA_ASSIGN_OR_RETURN(h, hidden(h));
  OA_ASSIGN_OR_RETURN(h, ml::matrix::relu(h));
  const ml::nn::Linear classes(graph, prefix + "classes", options.hidden, kDigitClasses,
                               {.weight = init::KaimingUniform(options.seed + 2)});
  return classes(h);
}

}  // namespace

absl::Status RecordDigitsTraining(Graph& graph, const DigitsOptions& options) {
  const DigitsInputs inputs(graph, options.batch);
  OA_ASSIGN_OR_RETURN(Matrix x, NormaliseDigits(inputs.images));
  OA_ASSIGN_OR_RETURN(x, WithShifts(graph, x));
  OA_ASSIGN_OR_RETURN(Matrix logits, Logits(graph, "", x, options));
  OA_ASSIGN_OR_RETURN(Matrix classes, matrix::cast(inputs.labels, I32));
  OA_ASSIGN_OR_RETURN(Matrix all_classes, matrix::concat(std::vector<Matrix>(9, classes), 0));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::cross_entropy(logits, all_classes));
  OA_ASSIGN_OR_RETURN(Matrix unshifted, matrix::slice(logits, 0, 0, options.batch));
  return OutputDigitsTraining(graph, loss, unshifted, inputs.labels, options.step);
}

absl::Status RecordDigitsEvaluation(Graph& graph, const DigitsOptions& options) {
  const DigitsInputs inputs(graph, options.batch);
  OA_ASSIGN_OR_RETURN(Matrix x, NormaliseDigits(inputs.images));
  OA_ASSIGN_OR_RETURN(Matrix logits, Logits(graph, kAverage, x, options));
  return OutputDigitsEvaluation(graph, logits, inputs.labels);
}

}  // namespace oa::examples
