#include "tests/support/filled_graph.h"

#include "absl/strings/str_cat.h"

namespace oa::testing {

using reference::Tensor;

Matrix FilledGraph::Input(const std::string& name, const Tensor& values) {
  inputs[name] = ToBytes(values);
  return graph.Input(name, values.dtype, values.shape);
}

Matrix FilledGraph::Random(const std::string& name, Shape shape) {
  return Input(name, Fill(reference::Uniform(std::move(shape)), inputs.size() + 1));
}

void FilledGraph::Output(const std::string& name, const Matrix& y, const Matrix& weight,
                         const std::vector<Matrix>& targets) {
  const Matrix weighted = Must(matrix::mul(y, weight));
  const ml::autograd::Gradients gradients =
      Must(ml::autograd::Backward(Must(matrix::sum(weighted, std::nullopt)), targets));
  graph.Output(name, y);
  for (size_t i = 0; i < targets.size(); ++i) {
    graph.Output(absl::StrCat(name, ".gradient", i), Must(gradients.Of(targets[i])));
  }
}

std::map<std::string, Tensor> FilledGraph::Run(const RunOptions& options) const {
  REQUIRE_MESSAGE(graph.status().ok(), graph.status().ToString());
  std::map<std::string, Tensor> results;
  for (const auto& [name, bytes] : Must(RunGraph(graph.ir(), inputs, options))) {
    const Shape flat = {bytes.size() / sizeof(float)};
    results[name] = FromBytes(DType::F32, flat, bytes);
  }
  return results;
}

void CheckPair(const std::map<std::string, Tensor>& results, const std::string& a,
               const std::string& b, int gradients, reference::Tolerance tolerance) {
  CHECK_EQ(Compare(results.at(a), results.at(b), tolerance), "");
  for (int i = 0; i < gradients; ++i) {
    INFO("gradient ", i);
    const std::string part = absl::StrCat(".gradient", i);
    CHECK_EQ(Compare(results.at(a + part), results.at(b + part), tolerance), "");
  }
}

}  // namespace oa::testing
