// Scans equal repeated cells, in value and in every gradient.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "frontend/oa.h"
#include "tests/support/device.h"
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

template <class T>
T Must(absl::StatusOr<T> value) {
  REQUIRE_MESSAGE(value.ok(), value.status().ToString());
  return *std::move(value);
}

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

void CheckCase(const Case& c, bool as_gpu = false) {
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
  const exec::TensorMap outputs = Must(RunGraph(graph.ir(), inputs, {.as_gpu = as_gpu}));
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
    CheckCase({gru, 2, 4, 19, false});
    CheckCase({gru, 40, 4, 48, true});  // separate dispatches for the steps
    CheckCase({gru, 1, 2, 300, true});
  }
}

TEST_CASE("recurrent: the forms for GPUs, too") {
  if (TestDevice() == nullptr) return;
  for (bool gru : {false, true}) {
    CheckCase({gru, 3, 5, 6, true}, true);
    CheckCase({gru, 2, 4, 19, false}, true);
    CheckCase({gru, 5, 3, 128, true}, true);
  }
  // A dispatch a step: at least 2^18 elements of weight; whole vectors, and rows that cut them.
  CheckCase({true, 17, 3, 300, true}, true);
  CheckCase({true, 3, 4, 301, false}, true);
  CheckCase({false, 3, 3, 512, true}, true);
}

}  // namespace
}  // namespace oa::testing
