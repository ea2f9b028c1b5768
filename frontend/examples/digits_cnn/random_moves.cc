#include "frontend/examples/digits_cnn/random_moves.h"

#include <vector>

#include "frontend/examples/common/digits_data.h"

namespace oa::examples {
namespace {

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

}  // namespace

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

}  // namespace oa::examples
