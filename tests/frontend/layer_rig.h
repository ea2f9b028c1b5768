// What the tests of layers share: a graph with data, the operators' plain loops, refused calls.
#ifndef OA_TESTS_FRONTEND_LAYER_RIG_H_
#define OA_TESTS_FRONTEND_LAYER_RIG_H_

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "frontend/oa.h"
#include "ir/graph.h"
#include "tests/reference/reference.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {

using reference::Tensor;

// A graph under construction with the data of its inputs.
class Rig {
 public:
  Rig() : graph_("layers") {}
  Graph& graph() { return graph_; }

  Matrix Input(const std::string& name, const reference::InputSpec& spec) {
    const Tensor data = Fill(spec, ++seed_);
    inputs_[name] = ToBytes(data);
    return graph_.Input(name, spec.dtype, spec.shape);
  }

  // Moves every parameter away from its initial value by 0.1 to 1, and makes it an output.
  void Perturb(const ml::nn::Layer& layer) {
    for (const Parameter& parameter : layer.parameters()) {
      const Matrix noise =
          Input("noise." + parameter.name(), reference::Uniform(parameter.data().shape(), 0.1, 1));
      REQUIRE(matrix::accumulate(parameter, noise).ok());
      graph_.Output(parameter.name(), parameter);
    }
  }

  // Replays; afterwards Value reads inputs and outputs. False when there is no device.
  bool Run(int replays = 1) {
    if (TestDevice() == nullptr) return false;
    REQUIRE_MESSAGE(graph_.status().ok(), graph_.status().ToString());
    RunOptions options;
    options.replays = replays;
    absl::StatusOr<exec::TensorMap> outputs = RunGraph(graph_.ir(), inputs_, options);
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
    outputs_ = *std::move(outputs);
    return true;
  }

  Tensor Value(const std::string& name) const {
    for (const ir::NamedValue& output : graph_.ir().outputs()) {
      if (output.name == name) return Read(output.value, outputs_.at(name));
    }
    for (const ir::NamedValue& input : graph_.ir().inputs()) {
      if (input.name == name) return Read(input.value, inputs_.at(name));
    }
    FAIL("no value ", name);
    return {};
  }

 private:
  Tensor Read(ir::ValueId id, const std::vector<uint8_t>& bytes) const {
    const ir::Value& value = graph_.ir().value(id);
    return FromBytes(value.dtype, value.shape, bytes);
  }

  Graph graph_;
  uint64_t seed_ = 0;
  std::map<std::string, Bytes> inputs_;
  exec::TensorMap outputs_;
};

// The first result of an operator's plain loop.
inline Tensor Oracle(const std::string& op, const std::vector<Tensor>& inputs,
                     const ir::Attributes& attributes = {}) {
  for (const reference::ReferenceOp& row : reference::AllReferences()) {
    if (row.op == op) return row.forward(inputs, attributes)[0];
  }
  FAIL("no reference of ", op);
  return {};
}

inline void CheckClose(const Tensor& got, const Tensor& expected) {
  CHECK_EQ(Compare(got, expected, {1e-5, 1e-5}), "");
}

// Records layer(x), with perturbed parameters, as output "y".
template <class L>
void RecordOne(Rig& rig, const L& layer, const Matrix& x) {
  rig.Perturb(layer);
  const Result<Matrix> y = layer(x);
  REQUIRE_MESSAGE(y.ok(), y.status().ToString());
  rig.graph().Output("y", *y);
}

// The call fails with InvalidArgument, says `text` and leaves the graph as it was.
template <class L>
void CheckRefused(Graph& graph, const L& layer, const Matrix& x, const std::string& text) {
  const size_t nodes = graph.ir().nodes().size();
  const size_t values = graph.ir().values().size();
  const Result<Matrix> y = layer(x);
  REQUIRE_FALSE(y.ok());
  CHECK_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
  CHECK_MESSAGE(absl::StrContains(y.status().message(), text), y.status().ToString());
  CHECK_EQ(graph.ir().nodes().size(), nodes);
  CHECK_EQ(graph.ir().values().size(), values);
}

}  // namespace oa::testing

#endif  // OA_TESTS_FRONTEND_LAYER_RIG_H_
