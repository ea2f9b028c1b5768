// A graph recorded through the frontend together with the data of its inputs, for tests that
// compare several operators with one another.
#ifndef OA_TESTS_SUPPORT_RECORDING_H_
#define OA_TESTS_SUPPORT_RECORDING_H_

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/oa.h"
#include "ir/graph.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {

inline reference::Tensor TensorOf(DType dtype, Shape shape, std::vector<double> data) {
  reference::Tensor tensor(dtype, std::move(shape));
  REQUIRE_EQ(tensor.size(), data.size());
  tensor.data = std::move(data);
  return tensor;
}

// As the test device runs graphs, and with the kernels that GPUs get.
inline const std::vector<RunOptions>& Ways() {
  static const auto& ways = *new std::vector<RunOptions>({{}, {.as_gpu = true}});
  return ways;
}

class Recording {
 public:
  Recording() : graph_("recording") {}
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

  Matrix Input(const std::string& name, const reference::Tensor& data) {
    inputs_[name] = ToBytes(data);
    return graph_.Input(name, data.dtype, data.shape);
  }
  // F32 between low and high, different for every input.
  Matrix Input(const std::string& name, const Shape& shape, double low = -1, double high = 1) {
    return Input(name, Fill(reference::Uniform(shape, low, high), inputs_.size() + 1));
  }
  void Output(const std::string& name, const Matrix& value) { graph_.Output(name, value); }

  // The same and, for the loss sum(weight * value), the gradients of `targets` as `name.gradient0`
  // and so on.
  void OutputWithGradients(const std::string& name, const Matrix& value, const Matrix& weight,
                           const std::vector<Matrix>& targets) {
    Output(name, value);
    const Matrix loss = Must(matrix::sum(Must(matrix::mul(value, weight)), std::nullopt));
    const ml::autograd::Gradients gradients = Must(ml::autograd::Backward(loss, targets));
    for (size_t i = 0; i < targets.size(); ++i) {
      Output(absl::StrCat(name, ".gradient", i), Must(gradients.Of(targets[i])));
    }
  }

  void Run(const RunOptions& options = {}) {
    REQUIRE_MESSAGE(graph_.status().ok(), graph_.status().ToString());
    outputs_ = Must(RunGraph(graph_.ir(), inputs_, options));
  }

  // An output of the last run, or an input.
  reference::Tensor Value(const std::string& name) const {
    for (const ir::NamedValue& output : graph_.ir().outputs()) {
      if (output.name == name) return Read(output.value, outputs_.at(name));
    }
    for (const ir::NamedValue& input : graph_.ir().inputs()) {
      if (input.name == name) return Read(input.value, inputs_.at(name));
    }
    FAIL("no value ", name);
    return {};
  }
  void Expect(const std::string& name, const reference::Tensor& expected,
              reference::Tolerance tolerance = reference::kExact) const {
    INFO(name);
    const reference::Tensor got = Value(name);
    REQUIRE_EQ(got.shape, expected.shape);
    CHECK_EQ(Compare(got, expected, tolerance), "");
  }

  // Two outputs and as many gradients below each agree.
  void ExpectPair(const std::string& name, const std::string& other, int gradients,
                  reference::Tolerance tolerance = reference::kExact) const {
    Expect(name, Value(other), tolerance);
    ExpectGradients(name, other, gradients, tolerance);
  }
  void ExpectGradients(const std::string& name, const std::string& other, int gradients,
                       reference::Tolerance tolerance = reference::kExact) const {
    for (int i = 0; i < gradients; ++i) {
      const std::string part = absl::StrCat(".gradient", i);
      Expect(name + part, Value(other + part), tolerance);
    }
  }

 private:
  reference::Tensor Read(ir::ValueId id, const Bytes& bytes) const {
    const ir::Value& value = graph_.ir().value(id);
    return FromBytes(value.dtype, value.shape, bytes);
  }

  Graph graph_;
  std::map<std::string, Bytes> inputs_;
  exec::TensorMap outputs_;
};

}  // namespace oa::testing

#endif  // OA_TESTS_SUPPORT_RECORDING_H_
