// Adjoint sweep: gradients on the device against central differences of the oracle, fused and
// unfused.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/sweep/sample_graph.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"

namespace oa::testing {
namespace {

// Elements the oracle did not differentiate are NaN: they take the device's value.
reference::Tensor FillUnchecked(reference::Tensor expected, const reference::Tensor& got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) expected[i] = got[i];
  }
  return expected;
}

void CheckAdjoint(const reference::ReferenceOp& op) {
  const SampleGraph built = BuildAdjoint(op);
  if (built.graph == nullptr) return;
  for (bool fuse : {true, false}) {
    INFO("fuse ", fuse);
    RunOptions options;
    options.fuse = fuse;
    absl::StatusOr<exec::TensorMap> outputs = RunGraph(*built.graph, built.inputs, options);
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
    for (const ExpectedOutput& expected : built.expected) {
      INFO(expected.name);
      const reference::Tensor got =
          FromBytes(DType::F32, expected.tensor.shape, outputs->at(expected.name));
      CHECK_EQ(Compare(got, FillUnchecked(expected.tensor, got), expected.tolerance), "");
    }
  }
}

TEST_CASE("adjoint: every gradient equals central differences of the oracle") {
  if (TestDevice() == nullptr) return;
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    SUBCASE(op.op.c_str()) { CheckAdjoint(op); }
  }
}

}  // namespace
}  // namespace oa::testing
