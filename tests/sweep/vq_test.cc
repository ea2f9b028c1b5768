// Vector quantisation beyond single operators: golden vectors, the kernels of GPUs, codebooks that
// are searched in shares, ties across tiles and shares, revival, the straight-through estimator.
#include <doctest/doctest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/support/recording.h"
#include "tests/sweep/sample_graph.h"

namespace oa::testing {
namespace {

using ir::Attributes;
using reference::Tensor;

reference::ReferenceOp OracleOf(const std::string& op) {
  for (const reference::ReferenceOp& row : reference::VqReference()) {
    if (row.op == op) return row;
  }
  FAIL("no oracle of ", op);
  return {};
}

TEST_CASE("vq: every sample with the kernels that GPUs get") {
  if (TestDevice() == nullptr) return;
  for (const reference::ReferenceOp& op : reference::VqReference()) {
    INFO(op.op);
    const SampleGraph built = BuildForward(op);
    const exec::TensorMap outputs = Must(RunGraph(*built.graph, built.inputs, {.as_gpu = true}));
    for (const ExpectedOutput& expected : built.expected) {
      INFO(expected.name);
      const Tensor got =
          FromBytes(expected.tensor.dtype, expected.tensor.shape, outputs.at(expected.name));
      CHECK_EQ(Compare(got, expected.tensor, expected.tolerance), "");
    }
  }
}

struct Revival {
  uint32_t code, seed;
  uint64_t latents, row;
};

const std::vector<Revival>& GoldenRevivals() {
  static const auto& golden = *new std::vector<Revival>({{0, 0, 16, 0},
                                                         {1, 0, 16, 14},
                                                         {2, 7, 16, 5},
                                                         {63, 1234567, 1000, 429},
                                                         {255, 4294967295u, 977, 357}});
  return golden;
}

Attributes EmaAttributes(float decay, float threshold, uint32_t seed, bool normalize) {
  return Attributes()
      .F32("decay", decay)
      .F32("epsilon", 1e-5f)
      .F32("dead_threshold", threshold)
      .U32("seed", seed)
      .Bool("normalize", normalize);
}

// Latent n is the number n.
Tensor Numbers(uint64_t count) {
  Tensor latent(DType::F32, {count, 1});
  for (uint64_t n = 0; n < count; ++n) latent[n] = static_cast<double>(n);
  return latent;
}

TEST_CASE("vq: golden revival rows of the oracle") {
  for (const Revival& r : GoldenRevivals()) {
    const Tensor state(DType::F32, {r.code + 1, 1}), sizes(DType::F32, {r.code + 1});
    const std::vector<Tensor> next =
        OracleOf("vq_ema_update")
            .forward(std::vector<Tensor>{Numbers(r.latents), Tensor(DType::I32, {r.latents}), state,
                                         sizes, state},
                     EmaAttributes(1, 1, r.seed, false));
    CHECK_EQ(next[2][r.code], static_cast<double>(r.row));
  }
}

TEST_CASE("vq: golden revival rows on the device") {
  if (TestDevice() == nullptr) return;
  Recording recording;
  for (const Revival& r : GoldenRevivals()) {
    const std::string name = absl::StrCat("code", r.code);
    const Tensor zeros(DType::F32, {r.code + 1, 1});
    const Matrix latent = recording.Input(name + ".latent", Numbers(r.latents));
    const Matrix indices = recording.Input(name + ".indices", Tensor(DType::I32, {r.latents}));
    const Matrix state = recording.Input(name + ".state", zeros);
    const Matrix sizes = recording.Input(name + ".sizes", Tensor(DType::F32, {r.code + 1}));
    const ml::matrix::VqEmaState next = Must(ml::matrix::vq_ema_update(
        latent, indices, state, sizes, state, 1, 1e-5f, 1, r.seed, false));
    recording.Output(name, Must(matrix::slice(next.codebook, 0, r.code, r.code + 1)));
  }
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    for (const Revival& r : GoldenRevivals()) {
      recording.Expect(absl::StrCat("code", r.code),
                       TensorOf(DType::F32, {1, 1}, {static_cast<double>(r.row)}));
    }
  }
}

TEST_CASE("vq: revived codes are latent rows, bit for bit, and nothing else is") {
  if (TestDevice() == nullptr) return;
  const uint64_t rows = 50, codes = 70, columns = 9;
  Recording recording;
  Tensor sizes(DType::F32, {codes});
  for (uint64_t k = 0; k < codes; ++k) sizes[k] = k % 3 == 0 ? 0.25 : 8;
  const Matrix latent = recording.Input("latent", {rows, columns});
  // Half of the indices name no code.
  const Tensor spread = Fill(reference::Integers(DType::I32, {rows}, -70, 69), 3);
  const Matrix state = recording.Input("state", {codes, columns});
  const ml::matrix::VqEmaState next = Must(ml::matrix::vq_ema_update(
      latent, recording.Input("indices", spread), state, recording.Input("sizes", sizes), state,
      0.875f, 1e-5f, 1, 99, true));
  recording.Output("sum", next.embed_sum);
  recording.Output("size", next.cluster_size);
  recording.Output("code", next.codebook);
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    const Tensor x = recording.Value("latent"), sum = recording.Value("sum");
    const Tensor size = recording.Value("size"), code = recording.Value("code");
    const auto row = [](const Tensor& t, uint64_t r) {
      return std::vector<double>(t.data.begin() + static_cast<int64_t>(r * columns),
                                 t.data.begin() + static_cast<int64_t>((r + 1) * columns));
    };
    for (uint64_t k = 0; k < codes; ++k) {
      bool is_latent = false;
      for (uint64_t n = 0; n < rows; ++n) is_latent = is_latent || row(x, n) == row(code, k);
      const double used = static_cast<double>(
          std::count(spread.data.begin(), spread.data.end(), static_cast<double>(k)));
      const bool dead = 0.875 * sizes[k] + 0.125 * used < 1;
      CHECK_EQ(is_latent, dead);
      if (!dead) continue;
      CHECK_EQ(size[k], 1);
      CHECK(row(sum, k) == row(code, k));
    }
  }
}

// A codebook of `codes` that repeats after `period` codes: every row has ties, in other tiles and
// in other shares of the search, and the first of each must win.
void CheckTies(uint64_t rows, uint64_t codes, uint64_t period, uint64_t columns) {
  INFO(rows, " rows, ", codes, " codes, ", columns, " columns");
  Tensor codebook = Fill(reference::Uniform({codes, columns}), 5);
  for (size_t i = period * columns; i < codebook.size(); ++i) {
    codebook[i] = codebook[i - period * columns];
  }
  Recording recording;
  const Matrix latent = recording.Input("latent", {rows, columns}, -2, 2);
  const ml::matrix::VqAssignResult found =
      Must(ml::matrix::vq_assign(latent, recording.Input("codebook", codebook)));
  recording.Output("indices", found.indices);
  recording.Output("quantized", found.quantized);
  const std::vector<Tensor> expected =
      OracleOf("vq_assign").forward(std::vector<Tensor>{recording.Value("latent"), codebook}, {});
  for (double index : expected[0].data) CHECK(index < static_cast<double>(period));
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    recording.Expect("indices", expected[0]);
    recording.Expect("quantized", expected[1]);
  }
}

TEST_CASE("vq: ties go to the first code, however the search is cut") {
  if (TestDevice() == nullptr) return;
  CheckTies(70, 200, 9, 20);
  CheckTies(3, 4000, 1300, 7);
  CheckTies(2, 12000, 5000, 136);  // in shares on a CPU device, too
  CheckTies(5, 64, 32, 1100);
}

TEST_CASE("vq: the straight-through estimator has the code's value and the latent's gradient") {
  if (TestDevice() == nullptr) return;
  Recording recording;
  const Matrix z = recording.Input("z", {30, 6});
  const Matrix codebook = recording.Input("codebook", {11, 6});
  const Matrix g = recording.Input("g", {30, 6});
  const ml::matrix::VqAssignResult found = Must(ml::matrix::vq_assign(z, codebook));
  const Matrix step = Must(ml::matrix::detach(Must(matrix::sub(found.quantized, z))));
  const Matrix y = Must(matrix::add(z, step));
  const Matrix loss = Must(matrix::sum(Must(matrix::mul(y, g))));
  const ml::autograd::Gradients gradients =
      Must(ml::autograd::Backward(loss, std::vector<Matrix>{z}));
  recording.Output("y", y);
  recording.Output("dz", Must(gradients.Of(z)));
  recording.Output("quantized", found.quantized);
  recording.Output("again", Must(ml::matrix::vq_lookup(codebook, found.indices)));
  recording.Run();
  recording.Expect("y", recording.Value("quantized"), {5e-7, 0});
  recording.Expect("again", recording.Value("quantized"));
  recording.Expect("dz", recording.Value("g"));
}

TEST_CASE("vq: no operator has a gradient") {
  Graph graph("g");
  const Matrix z = graph.Input("z", F32, {5, 3});
  const Matrix codebook = graph.Input("codebook", F32, {4, 3});
  const Matrix sizes = graph.Input("sizes", F32, {4});
  const ml::matrix::VqAssignResult found = Must(ml::matrix::vq_assign(z, codebook));
  const ml::matrix::VqEmaState next = Must(ml::matrix::vq_ema_update(
      z, found.indices, codebook, sizes, codebook, 0.5f, 1e-5f, 0, 1, false));
  for (const Matrix& value :
       {found.quantized, Must(ml::matrix::vq_lookup(codebook, found.indices)), next.codebook}) {
    const Matrix loss = Must(matrix::sum(value));
    const ml::autograd::Gradients gradients =
        Must(ml::autograd::Backward(loss, std::vector<Matrix>{z, codebook}));
    for (const Matrix& operand : {z, codebook}) {
      CHECK_EQ(gradients.Of(operand).status().code(), absl::StatusCode::kNotFound);
    }
  }
}

}  // namespace
}  // namespace oa::testing
