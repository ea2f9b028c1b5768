// A graph whose inputs are filled as they are declared: what tests of operators through the front
// end are written with.
#ifndef OA_TESTS_SUPPORT_FILLED_GRAPH_H_
#define OA_TESTS_SUPPORT_FILLED_GRAPH_H_

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/oa.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {

// The value, or the end of the test with its status.
template <class T>
T Must(absl::StatusOr<T> value) {
  REQUIRE_MESSAGE(value.ok(), value.status().ToString());
  return *std::move(value);
}

struct FilledGraph {
  Graph graph{"test"};
  std::map<std::string, Bytes> inputs;

  Matrix Input(const std::string& name, const reference::Tensor& values);
  // F32, uniform in [-2, 2], different for every input.
  Matrix Random(const std::string& name, Shape shape);

  // `y` as output `name` and, for the loss sum(weight * y), the gradients of `targets` as
  // `name.gradient0` and so on.
  void Output(const std::string& name, const Matrix& y, const Matrix& weight,
              const std::vector<Matrix>& targets);

  // The outputs by name, F32, flat.
  std::map<std::string, reference::Tensor> Run(const RunOptions& options = {}) const;
};

// Outputs `a` and `b` and the gradients below them agree; there are `gradients` of them.
void CheckPair(const std::map<std::string, reference::Tensor>& results, const std::string& a,
               const std::string& b, int gradients, reference::Tolerance tolerance);

}  // namespace oa::testing

#endif  // OA_TESTS_SUPPORT_FILLED_GRAPH_H_
