// Scans equal repeated cells, in value and in every gradient, by every route; long scans.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "frontend/oa.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using reference::Tensor;

struct Case {
  bool gru;
  uint64_t batch, steps, hidden;
  bool bias;
};

struct Operands {
  Matrix gates, weight, bias;
  OptMatrix bias_or_null() const { return bias.valid() ? &bias : nullptr; }
};

Result<Matrix> Scan(const Case& c, const Operands& in) {
  const auto scan = c.gru ? ml::matrix::gru_scan : ml::matrix::rnn_scan;
  return scan(in.gates, in.weight, in.bias_or_null());
}

Result<Matrix> RepeatedCells(const Case& c, const Operands& in) {
  const auto cell = c.gru ? ml::matrix::gru_cell : ml::matrix::rnn_cell;
  const int64_t batch = static_cast<int64_t>(c.batch), hidden = static_cast<int64_t>(c.hidden);
  OA_ASSIGN_OR_RETURN(Matrix h, matrix::zeros(*in.gates.graph(), {c.batch, c.hidden}));
  std::vector<Matrix> states;
  for (uint64_t t = 0; t < c.steps; ++t) {
    OA_ASSIGN_OR_RETURN(const Matrix step, matrix::slice(in.gates, 1, t, t + 1));
    OA_ASSIGN_OR_RETURN(const Matrix gates, matrix::reshape(step, {batch, -1}));
    OA_ASSIGN_OR_RETURN(h, cell(gates, h, in.weight, in.bias_or_null()));
    OA_ASSIGN_OR_RETURN(const Matrix state, matrix::reshape(h, {batch, 1, hidden}));
    states.push_back(state);
  }
  return matrix::concat(states, 1);
}

// States and gradients of both forms, under names that start with `prefix`.
void AddOutputs(Graph& graph, const std::string& prefix, const Operands& in, const Matrix& states,
                const Matrix& loss_weight) {
  const Matrix weighted = Must(matrix::mul(states, loss_weight));
  const Matrix loss = Must(matrix::sum(weighted, std::nullopt));
  std::vector<Matrix> targets = {in.gates, in.weight};
  if (in.bias.valid()) targets.push_back(in.bias);
  const ml::autograd::Gradients gradients = Must(ml::autograd::Backward(loss, targets));
  graph.Output(absl::StrCat(prefix, ".states"), states);
  for (size_t i = 0; i < targets.size(); ++i) {
    graph.Output(absl::StrCat(prefix, ".gradient", i), Must(gradients.Of(targets[i])));
  }
}

void CheckCase(const Case& c, const RunOptions& options = {}) {
  INFO((c.gru ? "gru " : "rnn "), c.batch, " x ", c.steps, " x ", c.hidden, ", bias ", c.bias);
  const uint64_t width = (c.gru ? 3 : 1) * c.hidden;
  Graph graph("scan");
  std::map<std::string, Bytes> inputs;
  const auto input = [&](const char* name, Shape shape, double bound) {
    inputs[name] = ToBytes(Fill(reference::Uniform(shape, -bound, bound), inputs.size() + 1));
    return graph.Input(name, DType::F32, shape);
  };
  Operands in;
  in.gates = input("gates", {c.batch, c.steps, width}, 2);
  in.weight = input("weight", {width, c.hidden}, 1 / std::sqrt(static_cast<double>(c.hidden)));
  if (c.bias) in.bias = input("bias", {width}, 0.5);
  const Matrix loss_weight = input("loss", {c.batch, c.steps, c.hidden}, 1);
  AddOutputs(graph, "scan", in, Must(Scan(c, in)), loss_weight);
  AddOutputs(graph, "cells", in, Must(RepeatedCells(c, in)), loss_weight);
  REQUIRE(graph.status().ok());
  const exec::TensorMap outputs = Must(RunGraph(graph.ir(), inputs, options));
  int compared = 0;
  for (const auto& [name, bytes] : outputs) {
    if (name.rfind("scan", 0) != 0) continue;
    INFO(name);
    const Bytes& other = outputs.at("cells" + name.substr(4));
    const Shape shape = {bytes.size() / sizeof(float)};
    REQUIRE_EQ(bytes.size(), other.size());
    CHECK_EQ(Compare(FromBytes(DType::F32, shape, bytes), FromBytes(DType::F32, shape, other),
                     {3e-5, 3e-5}),
             "");
    ++compared;
  }
  CHECK_EQ(compared, c.bias ? 4 : 3);
}

TEST_CASE("recurrent: a scan equals repeated cells in value and gradient") {
  if (TestDevice() == nullptr) return;
  for (bool gru : {false, true}) {
    CheckCase({gru, 3, 5, 6, true});
    CheckCase({gru, 40, 4, 48, true});
    CheckCase({gru, 1, 2, 300, true});
  }
}

TEST_CASE("recurrent: by every route") {
  if (TestDevice() == nullptr) return;
  for (bool gru : {false, true}) {
    const std::string scan = gru ? "gru_scan" : "rnn_scan";
    for (const std::string& route : ir::FindOp(scan)->routes) {
      INFO("route ", route);
      const RunOptions options = {.routes = {{scan, route}, {scan + "_backward", route}}};
      CheckCase({gru, 3, 1, 1, true}, options);
      CheckCase({gru, 3, 5, 6, true}, options);
      CheckCase({gru, 2, 4, 19, false}, options);
      CheckCase({gru, 18, 3, 40, true}, options);  // behind the edges of tiles
    }
  }
}

TEST_CASE("recurrent: the scan kernel as GPUs run it") {
  if (TestDevice() == nullptr) return;
  for (bool gru : {false, true}) {
    CheckCase({gru, 3, 5, 6, true}, {.as_gpu = true});
    CheckCase({gru, 2, 4, 19, false}, {.as_gpu = true});
    CheckCase({gru, 3, 3, 128, true}, {.as_gpu = true});
  }
}

// Gradients of sum(g * h) for h[t] = tanh(x[t] + w h[t-1] + b) with one unit.
struct LongScan {
  Tensor x, g, dx;
  double w = 0.6, b = 0.1, dw = 0, db = 0;
  std::vector<double> h;

  explicit LongScan(uint64_t steps)
      : x(Fill(reference::Uniform({1, steps, 1}), 1)),
        g(Fill(reference::Uniform({1, steps, 1}, -1, 1), 2)),
        dx(DType::F32, {1, steps, 1}) {
    double state = 0, carry = 0;
    for (uint64_t t = 0; t < steps; ++t) h.push_back(state = std::tanh(x[t] + w * state + b));
    for (uint64_t t = steps; t-- > 0;) {
      dx[t] = (g[t] + carry) * (1 - h[t] * h[t]);
      carry = w * dx[t];
      db += dx[t];
      if (t > 0) dw += dx[t] * h[t - 1];
    }
  }
};

TEST_CASE("recurrent: hundreds of thousands of steps") {
  if (TestDevice() == nullptr) return;
  const uint64_t steps = 300'007;  // CPU devices need several dispatches, also for the weight
  const LongScan expected(steps);
  Graph graph("long");
  const Matrix x = graph.Input("x", DType::F32, {1, steps, 1});
  const Matrix g = graph.Input("g", DType::F32, {1, steps, 1});
  const Parameter w = graph.Param("w", {1, 1}, init::Constant(0.6f));
  const Parameter b = graph.Param("b", {1}, init::Constant(0.1f));
  const Matrix bias = b;
  const Matrix h = Must(ml::matrix::rnn_scan(x, w, &bias));
  const Matrix loss = Must(matrix::sum(Must(matrix::mul(h, g)), std::nullopt));
  const ml::autograd::Gradients gradients = Must(ml::autograd::Backward(loss, {&x, 1}));
  graph.Output("dx", Must(gradients.Of(x)));
  graph.Output("dw", Must(gradients.Of(w)));
  graph.Output("db", Must(gradients.Of(b)));
  const exec::TensorMap outputs =
      Must(RunGraph(graph.ir(), {{"x", ToBytes(expected.x)}, {"g", ToBytes(expected.g)}}));
  CHECK_EQ(
      Compare(FromBytes(DType::F32, {1, steps, 1}, outputs.at("dx")), expected.dx, {1e-5, 1e-5}),
      "");
  CHECK(FromBytes(DType::F32, {1}, outputs.at("dw"))[0] ==
        doctest::Approx(expected.dw).epsilon(1e-4));
  CHECK(FromBytes(DType::F32, {1}, outputs.at("db"))[0] ==
        doctest::Approx(expected.db).epsilon(1e-4));
}

}  // namespace
}  // namespace oa::testing
