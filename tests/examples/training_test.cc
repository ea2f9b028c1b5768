// The optimiser step of the examples: averages of parameters, and the digits' random moves.
#include "frontend/examples/common/training.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "frontend/examples/digits_cnn/random_moves.h"
#include "ir/graph.h"
#include "tests/reference/reference.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::examples {
namespace {

using reference::Tensor;

std::map<std::string, Tensor> Replay(const Graph& graph, int replays,
                                     const std::map<std::string, testing::Bytes>& inputs) {
  testing::RunOptions options;
  options.replays = replays;
  const absl::StatusOr<exec::TensorMap> outputs = testing::RunGraph(graph.ir(), inputs, options);
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
  std::map<std::string, Tensor> tensors;
  for (const ir::NamedValue& output : graph.ir().outputs()) {
    const ir::Value& value = graph.ir().value(output.value);
    tensors[output.name] = testing::FromBytes(value.dtype, value.shape, outputs->at(output.name));
  }
  return tensors;
}

TEST_CASE("training: averages are the means of all values so far, the newest weighted most") {
  if (testing::TestDevice() == nullptr) return;
  const float decay = 0.75f;
  Graph graph("averages");
  const Parameter w = graph.Param("w", {3}, init::Uniform(1, 2, 5));
  const Matrix x = graph.Input("x", F32, {3});
  const Result<Matrix> product = matrix::mul(w, x);
  REQUIRE(product.ok());
  const Result<Matrix> loss = matrix::mean(*product);
  REQUIRE(loss.ok());
  const Result<Matrix> norm =
      RecordStep(graph, *loss, {.learning_rate = 0.1f, .average_decay = decay});
  REQUIRE_MESSAGE(norm.ok(), norm.status().ToString());
  graph.Output("w", w);
  REQUIRE_EQ(graph.parameters().back().name(), "average.w");
  graph.Output("average", graph.parameters().back());
  const auto inputs = std::map<std::string, testing::Bytes>{
      {"x", testing::ToBytes(testing::Fill(reference::Uniform({3}), 1))}};
  Tensor sum(F32, {3});
  double weight = 0;
  for (int replays = 1; replays <= 5; ++replays) {
    const std::map<std::string, Tensor> values = Replay(graph, replays, inputs);
    weight = weight * decay + 1;
    Tensor expected(F32, {3});
    for (size_t i = 0; i < 3; ++i) {
      sum[i] = sum[i] * decay + values.at("w")[i];
      expected[i] = sum[i] / weight;
    }
    CHECK_EQ(testing::Compare(values.at("average"), expected, {1e-6, 1e-6}), "");
  }
}

// Pixel (row, column) of an image, 0 outside.
double Pixel(const Tensor& images, uint64_t image, int row, int column) {
  if (row < 0 || row > 7 || column < 0 || column > 7) return 0;
  return images[image * 64 + row * 8 + column];
}

// Which of the nine moves made `moved` of an image, -1: none.
int MoveOf(const Tensor& images, const Tensor& moved, uint64_t image) {
  for (int move = 0; move < 9; ++move) {
    bool same = true;
    for (int i = 0; i < 64; ++i) {
      same &=
          moved[image * 64 + i] == Pixel(images, image, i / 8 + move / 3 - 1, i % 8 + move % 3 - 1);
    }
    if (same) return move;
  }
  return -1;
}

TEST_CASE(
    "training: every replay moves every image by at most a pixel, all ways of doing so occur") {
  if (testing::TestDevice() == nullptr) return;
  constexpr uint64_t kImages = 40;
  Graph graph("moves");
  const Matrix images = graph.Input("images", U8, {kImages, 64});
  const Result<Matrix> moved = RandomlyMoved(graph, images, 1);
  REQUIRE_MESSAGE(moved.ok(), moved.status().ToString());
  graph.Output("moved", *moved);
  const Tensor data = testing::Fill(reference::Integers(U8, {kImages, 64}, 1, 16), 2);
  std::vector<std::vector<int>> moves;
  std::vector<int> counts(9, 0);
  for (int replays = 1; replays <= 3; ++replays) {
    const Tensor got = Replay(graph, replays, {{"images", testing::ToBytes(data)}}).at("moved");
    moves.emplace_back();
    for (uint64_t image = 0; image < kImages; ++image) {
      moves.back().push_back(MoveOf(data, got, image));
      REQUIRE_GE(moves.back().back(), 0);
      counts[moves.back().back()] += 1;
    }
  }
  CHECK_NE(moves[0], moves[1]);
  CHECK_NE(moves[1], moves[2]);
  for (const int count : counts) CHECK_GE(count, 3);  // 13 on average
}

}  // namespace
}  // namespace oa::examples
