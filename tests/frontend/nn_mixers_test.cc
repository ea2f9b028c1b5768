// Layers that mix rows of a sequence or choose among experts: attention, the gated recurrence and
// the sparse mixture of experts, against loops in double that share nothing with the operators.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "frontend/oa.h"
#include "ir/graph.h"
#include "tests/frontend/layer_rig.h"

namespace oa {
namespace {

namespace nn = ml::nn;
using reference::Tensor;
using testing::CheckClose;
using testing::CheckRefused;
using testing::RecordOne;
using testing::Rig;
using Row = std::vector<double>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Row `row` of a tensor whose last extent is `width`.
Row RowOf(const Tensor& x, uint64_t row, uint64_t width) {
  return Row(x.data.begin() + row * width, x.data.begin() + (row + 1) * width);
}

// weight [outputs, inputs] from element `offset` on, times x, plus a bias that may be absent.
Row Product(const Row& x, const Tensor& weight, uint64_t outputs, uint64_t offset = 0,
            const Tensor& bias = {}, uint64_t bias_offset = 0) {
  Row y(outputs);
  for (uint64_t n = 0; n < outputs; ++n) {
    y[n] = bias.present() ? bias[bias_offset + n] : 0;
    for (size_t k = 0; k < x.size(); ++k) y[n] += x[k] * weight[offset + n * x.size() + k];
  }
  return y;
}

Row Softmax(const Row& z) {
  const double largest = *std::max_element(z.begin(), z.end());
  Row p;
  double sum = 0;
  for (const double value : z) p.push_back(std::exp(value - largest));
  for (const double value : p) sum += value;
  for (double& value : p) value /= sum;
  return p;
}

// The names of all parameters, in order.
std::vector<std::string> Names(const nn::Layer& layer) {
  std::vector<std::string> names;
  for (const Parameter& parameter : layer.parameters()) names.push_back(parameter.name());
  return names;
}

// Every trainable parameter gets a gradient, and the others none.
void CheckGradients(Graph& graph, const nn::Layer& layer, const Matrix& y) {
  const Result<Matrix> loss = matrix::mean(y);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE_MESSAGE(gradients.ok(), gradients.status().ToString());
  for (const Parameter& parameter : layer.parameters()) {
    CHECK_MESSAGE(gradients->Of(parameter).ok() == parameter.requires_grad(), parameter.name());
  }
  ml::optim::Sgd optimiser;
  CHECK(optimiser.Step(*gradients).ok());
  CHECK(graph.status().ok());
}

// ---- MultiHeadAttention

constexpr uint64_t kBatch = 2, kLength = 5, kWidth = 8, kHeads = 2, kHeadWidth = 4;

struct AttentionCase {
  nn::MultiHeadAttentionOptions options;
  bool mask = false;
};

// Rotates each head of a row by its position.
void Rotate(Row& row, uint64_t position, double theta_base) {
  for (uint64_t h = 0; h < kHeads; ++h) {
    for (uint64_t i = 0; i < kHeadWidth / 2; ++i) {
      const double phi = position * std::pow(theta_base, -2.0 * i / kHeadWidth);
      double& low = row[h * kHeadWidth + i];
      double& high = row[h * kHeadWidth + i + kHeadWidth / 2];
      const double rotated = low * std::cos(phi) - high * std::sin(phi);
      high = low * std::sin(phi) + high * std::cos(phi);
      low = rotated;
    }
  }
}

std::vector<Row> Projected(const Rig& rig, const std::string& name, const AttentionCase& c) {
  const Tensor x = rig.Value("x"), weight = rig.Value("mha." + name + ".weight");
  const Tensor bias = c.options.bias ? rig.Value("mha." + name + ".bias") : Tensor();
  std::vector<Row> rows;
  for (uint64_t r = 0; r < kBatch * kLength; ++r) {
    rows.push_back(Product(RowOf(x, r, kWidth), weight, kWidth, 0, bias));
    if (c.options.rope_theta && name != "value") {
      Rotate(rows.back(), r % kLength, *c.options.rope_theta);
    }
  }
  return rows;
}

Tensor AttentionReference(const Rig& rig, const AttentionCase& c) {
  const std::vector<Row> query = Projected(rig, "query", c), key = Projected(rig, "key", c),
                         value = Projected(rig, "value", c);
  const Tensor mask = c.mask ? rig.Value("mask") : Tensor();
  Tensor y(F32, {kBatch, kLength, kWidth});
  for (uint64_t r = 0; r < kBatch * kLength; ++r) {
    const uint64_t b = r / kLength, i = r % kLength;
    Row mixed(kWidth, 0);
    for (uint64_t h = 0; h < kHeads; ++h) {
      Row z;
      for (uint64_t j = 0; j < (c.options.causal ? i + 1 : kLength); ++j) {
        double dot = 0;
        for (uint64_t d = h * kHeadWidth; d < (h + 1) * kHeadWidth; ++d) {
          dot += query[r][d] * key[b * kLength + j][d];
        }
        z.push_back(dot / std::sqrt(double{kHeadWidth}));
        if (c.mask) z.back() += mask[((b * kHeads + h) * kLength + i) * kLength + j];
      }
      const Row p = Softmax(z);
      for (size_t j = 0; j < p.size(); ++j) {
        for (uint64_t d = h * kHeadWidth; d < (h + 1) * kHeadWidth; ++d) {
          mixed[d] += p[j] * value[b * kLength + j][d];
        }
      }
    }
    const Row out = Product(mixed, rig.Value("mha.out.weight"), kWidth, 0,
                            c.options.bias ? rig.Value("mha.out.bias") : Tensor());
    std::copy(out.begin(), out.end(), y.data.begin() + r * kWidth);
  }
  return y;
}

TEST_CASE("nn: multi-head attention") {
  const AttentionCase cases[] = {
      {{}},
      {{.causal = false, .bias = true}, true},
      {{.bias = true, .rope_theta = 100.0f}},
      {{.rope_theta = 10000.0f}, true},
  };
  for (const AttentionCase& c : cases) {
    INFO("case ", &c - cases);
    Rig rig;
    const nn::MultiHeadAttention layer(rig.graph(), "mha", kWidth, kHeads, c.options);
    rig.Perturb(layer);
    const Matrix x = rig.Input("x", reference::Uniform({kBatch, kLength, kWidth}, -0.5, 0.5));
    Matrix mask;
    if (c.mask) mask = rig.Input("mask", reference::Uniform({kBatch * kHeads * kLength, kLength}));
    const Result<Matrix> y = layer(x, c.mask ? &mask : nullptr);
    REQUIRE_MESSAGE(y.ok(), y.status().ToString());
    rig.graph().Output("y", *y);
    if (!rig.Run()) return;
    CheckClose(rig.Value("y"), AttentionReference(rig, c));
  }
}

TEST_CASE("nn: multi-head attention names its parameters and trains them") {
  Graph graph("g");
  const nn::MultiHeadAttention layer(graph, "mha", 8, 2, {.bias = true, .rope_theta = 100.0f});
  CHECK_EQ(Names(layer),
           std::vector<std::string>{"mha.query.weight", "mha.query.bias", "mha.key.weight",
                                    "mha.key.bias", "mha.value.weight", "mha.value.bias",
                                    "mha.out.weight", "mha.out.bias"});
  const Result<Matrix> y = layer(graph.Input("x", F32, {2, 5, 8}));
  REQUIRE(y.ok());
  CheckGradients(graph, layer, *y);
}

TEST_CASE("nn: multi-head attention refuses what does not fit") {
  Graph graph("g");
  const Matrix x = graph.Input("x", F32, {2, 5, 6});
  const Matrix rows = graph.Input("rows", F32, {10, 6});
  const Matrix mask = graph.Input("mask", F32, {5, 5});
  CheckRefused(graph, nn::MultiHeadAttention(graph, "four", 6, 4), x,
               "layer 'four': 4 heads do not divide a width of 6");
  CheckRefused(graph, nn::MultiHeadAttention(graph, "zero", 6, 0), x, "0 heads");
  CheckRefused(graph, nn::MultiHeadAttention(graph, "rank", 6, 2), rows,
               "layer 'rank': x [10, 6] is not [B, S, 6]");
  CheckRefused(graph, nn::MultiHeadAttention(graph, "wide", 8, 2), x, "is not [B, S, 8]");
  CheckRefused(graph, nn::MultiHeadAttention(graph, "none", 6, 2), Matrix(), "layer 'none': x ");
  CheckRefused(graph, nn::MultiHeadAttention(graph, "odd", 6, 2, {.rope_theta = 10.0f}), x,
               "layer 'odd': rope_sequences: ");
  const nn::MultiHeadAttention layer(graph, "mask", 6, 2);
  const size_t nodes = graph.ir().nodes().size();
  const Result<Matrix> y = layer(x, &mask);
  REQUIRE_FALSE(y.ok());
  CHECK(absl::StrContains(y.status().message(), "layer 'mask': scaled_dot_product_attention: "));
  CHECK_EQ(graph.ir().nodes().size(), nodes);
}

// ---- Gru

// The state behind the step from `state` with input `x`; biases may be absent.
Row GruStep(const Rig& rig, const Row& x, const Row& state, bool bias) {
  const uint64_t n = state.size();
  const Row i = Product(x, rig.Value("gru.input.weight"), 3 * n, 0,
                        bias ? rig.Value("gru.input.bias") : Tensor());
  const Row p = Product(state, rig.Value("gru.recurrent.weight"), 3 * n, 0,
                        bias ? rig.Value("gru.recurrent.bias") : Tensor());
  Row next(n);
  for (uint64_t k = 0; k < n; ++k) {
    const double reset = Sigmoid(i[k] + p[k]), update = Sigmoid(i[n + k] + p[n + k]);
    const double candidate = std::tanh(i[2 * n + k] + reset * p[2 * n + k]);
    next[k] = (1 - update) * candidate + update * state[k];
  }
  return next;
}

TEST_CASE("nn: gru over a sequence, and one step of it") {
  for (const bool bias : {true, false}) {
    Rig rig;
    const nn::Gru layer(rig.graph(), "gru", 3, 6, {.bias = bias});
    RecordOne(rig, layer, rig.Input("x", reference::Uniform({2, 7, 3}, -1, 1)));
    const Result<Matrix> step = layer.Step(rig.Input("x1", reference::Uniform({2, 3}, -1, 1)),
                                           rig.Input("h", reference::Uniform({2, 6}, -1, 1)));
    REQUIRE_MESSAGE(step.ok(), step.status().ToString());
    rig.graph().Output("step", *step);
    if (!rig.Run()) return;
    Tensor y(F32, {2, 7, 6}), next(F32, {2, 6});
    for (uint64_t b = 0; b < 2; ++b) {
      Row state(6, 0);
      for (uint64_t t = 0; t < 7; ++t) {
        state = GruStep(rig, RowOf(rig.Value("x"), b * 7 + t, 3), state, bias);
        std::copy(state.begin(), state.end(), y.data.begin() + (b * 7 + t) * 6);
      }
      state = GruStep(rig, RowOf(rig.Value("x1"), b, 3), RowOf(rig.Value("h"), b, 6), bias);
      std::copy(state.begin(), state.end(), next.data.begin() + b * 6);
    }
    CheckClose(rig.Value("y"), y);
    CheckClose(rig.Value("step"), next);
  }
}

TEST_CASE("nn: gru names its parameters and trains them") {
  Graph graph("g");
  const nn::Gru layer(graph, "gru", 3, 6);
  CHECK_EQ(Names(layer), std::vector<std::string>{"gru.input.weight", "gru.input.bias",
                                                  "gru.recurrent.weight", "gru.recurrent.bias"});
  const Result<Matrix> y = layer(graph.Input("x", F32, {2, 7, 3}));
  REQUIRE(y.ok());
  CheckGradients(graph, layer, *y);
}

TEST_CASE("nn: gru refuses what does not fit") {
  Graph graph("g");
  CheckRefused(graph, nn::Gru(graph, "wide", 4, 6), graph.Input("x", F32, {2, 7, 3}),
               "layer 'wide': layer 'wide.input': linear: ");
  CheckRefused(graph, nn::Gru(graph, "rank", 3, 6), graph.Input("rows", F32, {7, 3}),
               "layer 'rank': gru_scan: ");
  CheckRefused(graph, nn::Gru(graph, "large", 3, 1025), graph.Input("y", F32, {2, 7, 3}),
               "layer 'large': gru_scan: ");
  const nn::Gru layer(graph, "state", 3, 6);
  const Result<Matrix> y =
      layer.Step(graph.Input("x1", F32, {2, 3}), graph.Input("h", F32, {3, 6}));
  REQUIRE_FALSE(y.ok());
  CHECK(absl::StrContains(y.status().message(), "layer 'state': gru_cell: "));
}

// ---- SparseMoe

constexpr uint64_t kRows = 12, kExperts = 5, kRoutes = 2, kHidden = 7;

std::vector<uint64_t> Chosen(const Row& logits, const Tensor& balance) {
  std::vector<uint64_t> order;
  for (uint64_t e = 0; e < kExperts; ++e) order.push_back(e);
  std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return logits[a] + (balance.present() ? balance[a] : 0) >
           logits[b] + (balance.present() ? balance[b] : 0);
  });
  order.resize(kRoutes);
  return order;
}

Row Expert(const Rig& rig, const Row& x, uint64_t e, bool bias) {
  const uint64_t width = x.size();
  const Row both = Product(x, rig.Value("moe.gate_up.weight"), 2 * kHidden, e * 2 * kHidden * width,
                           bias ? rig.Value("moe.gate_up.bias") : Tensor(), e * 2 * kHidden);
  Row hidden;
  for (uint64_t k = 0; k < kHidden; ++k) {
    hidden.push_back(both[k] * Sigmoid(both[k]) * both[kHidden + k]);
  }
  return Product(hidden, rig.Value("moe.down.weight"), width, e * width * kHidden,
                 bias ? rig.Value("moe.down.bias") : Tensor(), e * width);
}

Tensor MoeReference(const Rig& rig, bool bias, bool balanced) {
  const Tensor x = rig.Value("x");
  const uint64_t width = x.shape.back();
  Tensor y(F32, x.shape);
  for (uint64_t r = 0; r < kRows; ++r) {
    const Row row = RowOf(x, r, width);
    const Row logits = Product(row, rig.Value("moe.router.weight"), kExperts);
    const Row p = Softmax(logits);
    const std::vector<uint64_t> chosen =
        Chosen(logits, balanced ? rig.Value("moe.balance") : Tensor());
    double sum = 0;
    for (const uint64_t e : chosen) sum += p[e];
    for (const uint64_t e : chosen) {
      const Row part = Expert(rig, row, e, bias);
      for (uint64_t d = 0; d < width; ++d) y[r * width + d] += p[e] / sum * part[d];
    }
  }
  return y;
}

TEST_CASE("nn: the sparse mixture of experts") {
  for (const bool bias : {true, false}) {
    for (const bool balanced : {true, false}) {
      INFO("bias ", bias, ", balanced ", balanced);
      Rig rig;
      const nn::SparseMoe layer(rig.graph(), "moe", 6, kHidden, nn::Mode::kEvaluation,
                                {.experts = kExperts,
                                 .experts_per_token = kRoutes,
                                 .bias = bias,
                                 .balance_rate = balanced ? 0.1f : 0});
      RecordOne(rig, layer, rig.Input("x", reference::Uniform({3, 4, 6}, -0.5, 0.5)));
      if (!rig.Run()) return;
      CheckClose(rig.Value("y"), MoeReference(rig, bias, balanced));
    }
  }
}

TEST_CASE("nn: training moves the balance of experts, evaluation does not") {
  for (const nn::Mode mode : {nn::Mode::kTraining, nn::Mode::kEvaluation}) {
    Rig rig;
    const nn::SparseMoe layer(
        rig.graph(), "moe", 6, kHidden, mode,
        {.experts = kExperts, .experts_per_token = kRoutes, .balance_rate = 0.25f});
    const Result<Matrix> y = layer(rig.Input("x", reference::Uniform({kRows, 6})));
    REQUIRE(y.ok());
    rig.graph().Output("moe.router.weight", layer.parameters()[0]);
    rig.graph().Output("moe.balance", layer.parameters().back());
    if (!rig.Run()) return;
    Tensor balance(F32, {kExperts});
    Row counts(kExperts, 0);
    for (uint64_t r = 0; r < kRows; ++r) {
      const Row row = RowOf(rig.Value("x"), r, 6);
      const Row logits = Product(row, rig.Value("moe.router.weight"), kExperts);
      for (const uint64_t e : Chosen(logits, balance)) counts[e] += 1;
    }
    const double even = double{kRows} * kRoutes / kExperts;
    for (uint64_t e = 0; mode == nn::Mode::kTraining && e < kExperts; ++e) {
      balance[e] = counts[e] > even ? -0.25 : 0.25;  // 4.8 routes are even: no count equals it
    }
    CheckClose(rig.Value("moe.balance"), balance);
  }
}

TEST_CASE("nn: the sparse mixture of experts names its parameters and trains all but the balance") {
  Graph graph("g");
  const nn::SparseMoe layer(graph, "moe", 6, 7, nn::Mode::kTraining,
                            {.bias = true, .balance_rate = 0.01f});
  CHECK_EQ(Names(layer),
           std::vector<std::string>{"moe.router.weight", "moe.gate_up.weight", "moe.down.weight",
                                    "moe.gate_up.bias", "moe.down.bias", "moe.balance"});
  const Result<Matrix> y = layer(graph.Input("x", F32, {12, 6}));
  REQUIRE(y.ok());
  CheckGradients(graph, layer, *y);
}

TEST_CASE("nn: the sparse mixture of experts refuses what does not fit") {
  Graph graph("g");
  const Matrix x = graph.Input("x", F32, {12, 6});
  const auto moe = [&](const char* name, uint64_t width, uint64_t hidden, uint64_t experts,
                       uint64_t routes) {
    return nn::SparseMoe(graph, name, width, hidden, nn::Mode::kTraining,
                         {.experts = experts, .experts_per_token = routes});
  };
  CheckRefused(graph, moe("wide", 5, 7, 4, 2), x, "layer 'wide': layer 'wide.router': linear: ");
  CheckRefused(graph, moe("routes", 6, 7, 4, 5), x, "layer 'routes': top_k: ");
  CheckRefused(graph, moe("none", 6, 7, 4, 0), x, "layer 'none': top_k: ");
  CheckRefused(graph, moe("many", 6, 7, 257, 2), x, "layer 'many': moe_expert_plan: ");
  CheckRefused(graph, moe("thin", 6, 0, 4, 2), x, "layer 'thin': grouped_gemm_m: ");
  CheckRefused(graph, moe("empty", 6, 7, 4, 2), Matrix(), "layer 'empty': layer 'empty.router': ");
}

}  // namespace
}  // namespace oa
