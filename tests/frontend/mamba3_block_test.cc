// Mamba3Block: its two forms agree, gradients reach every parameter, wrong calls are refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/nn/mamba3.h"
#include "frontend/oa.h"
#include "tests/reference/reference.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa {
namespace {

namespace nn = ml::nn;
using reference::Tensor;
using testing::Must;

constexpr uint64_t kBatch = 2, kLength = 70, kWidth = 6;

nn::Mamba3BlockOptions Options(uint64_t rank, bool norm) {
  nn::Mamba3BlockOptions options;
  options.head_dim = 4;
  options.state_size = 6;
  options.mimo_rank = rank;
  options.output_norm = norm;
  return options;
}

// The whole sequence at once, and the same token by token.
void CheckForms(uint64_t rank, bool norm) {
  INFO("rank ", rank, ", norm ", norm);
  Graph graph("mamba3");
  const nn::Mamba3Block block(graph, "block", kWidth, Options(rank, norm));
  const Tensor data = testing::Fill(reference::Uniform({kBatch, kLength, kWidth}), 3);
  const Matrix x = graph.Input("x", F32, data.shape);
  const Matrix whole = Must(block(x));
  graph.Output("whole", whole);
  const nn::Mamba3Block::States states = block.DeclareStates(kBatch);
  std::vector<Matrix> tokens;
  for (uint64_t t = 0; t < kLength; ++t) {
    tokens.push_back(Must(block.Step(Must(matrix::slice(x, 1, t, t + 1)), states)));
  }
  graph.Output("tokens", Must(matrix::concat(tokens, 1)));
  if (testing::TestDevice() == nullptr) return;
  const exec::TensorMap outputs =
      Must(testing::RunGraph(graph.ir(), {{"x", testing::ToBytes(data)}}));
  const Tensor expected = testing::FromBytes(F32, data.shape, outputs.at("whole"));
  const Tensor got = testing::FromBytes(F32, data.shape, outputs.at("tokens"));
  double largest = 0;
  for (double value : expected.data) largest = std::max(largest, std::abs(value));
  CHECK(largest > 0.01);
  CHECK_EQ(testing::Compare(got, expected, {1e-5 * largest, 0}), "");
}

TEST_CASE("mamba3 block: steps equal the whole sequence") {
  for (uint64_t rank : {1, 3}) {
    for (bool norm : {false, true}) CheckForms(rank, norm);
  }
}

TEST_CASE("mamba3 block: every parameter gets a gradient") {
  Graph graph("mamba3");
  const nn::Mamba3Block block(graph, "block", kWidth, Options(2, true));
  CHECK_EQ(block.parameters().size(), 10);
  const Matrix x = graph.Input("x", F32, {kBatch, 5, kWidth});
  const Matrix y = Must(block(x));
  const Matrix loss = Must(matrix::mean(Must(matrix::mul(y, y)), std::nullopt));
  const ml::autograd::Gradients gradients = Must(ml::autograd::Backward(loss));
  CHECK_EQ(gradients.parameters().size(), block.parameters().size());
}

TEST_CASE("mamba3 block: step sizes start inside their bounds") {
  Graph graph("mamba3");
  const nn::Mamba3Block block(graph, "block", 64, {.head_dim = 2});
  for (const Parameter& parameter : block.parameters()) {
    if (parameter.name() != "block.dt_bias") continue;
    graph.Output("dt", Must(ml::matrix::softplus(parameter)));
  }
  if (testing::TestDevice() == nullptr) return;
  const exec::TensorMap outputs = Must(testing::RunGraph(graph.ir(), {}));
  const Tensor dt = testing::FromBytes(F32, {64}, outputs.at("dt"));
  const auto [low, high] = std::minmax_element(dt.data.begin(), dt.data.end());
  CHECK(*low >= 0.99e-3);
  CHECK(*high <= 0.101);
  CHECK(*high > 5 * *low);
}

TEST_CASE("mamba3 block: refuses what does not fit, by name") {
  Graph graph("mamba3");
  const nn::Mamba3Block odd(graph, "odd", 5, {.head_dim = 4});
  const Matrix x = graph.Input("x", F32, {1, 3, 5});
  const Result<Matrix> refused = odd(x);
  CHECK_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(refused.status().message(), "'odd'"));
  CHECK(absl::StrContains(refused.status().message(), "does not divide"));

  const nn::Mamba3Block block(graph, "block", 8, {.head_dim = 4, .state_size = 4});
  const Result<Matrix> narrow = block(x);
  CHECK_EQ(narrow.status().code(), absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(narrow.status().message(), "block"));
}

}  // namespace
}  // namespace oa
