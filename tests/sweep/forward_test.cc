// Forward sweep: every operator of the table against the oracle on the device, fused and unfused,
// with guard bytes around every buffer, NaN in every transient, and two bit-equal replays.
#include <doctest/doctest.h>

#include "ir/op.h"
#include "tests/sweep/sample_graph.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"

namespace oa::testing {
namespace {

bool HasMutatedOperand(const ir::OpDef& row) {
  for (const ir::OperandDef& operand : row.operands) {
    if (operand.mutated) return true;
  }
  return false;
}

void CheckOutputs(const SampleGraph& built, const exec::TensorMap& outputs) {
  for (const ExpectedOutput& expected : built.expected) {
    INFO(expected.name);
    const auto it = outputs.find(expected.name);
    REQUIRE(it != outputs.end());
    const reference::Tensor got =
        FromBytes(expected.tensor.dtype, expected.tensor.shape, it->second);
    CHECK_EQ(Compare(got, expected.tensor, expected.tolerance), "");
  }
}

void CheckForward(const reference::ReferenceOp& op) {
  const SampleGraph built = BuildForward(op);
  exec::TensorMap previous;
  for (bool fuse : {true, false}) {
    INFO("fuse ", fuse);
    RunOptions options;
    options.fuse = fuse;
    absl::StatusOr<exec::TensorMap> outputs = RunGraph(*built.graph, built.inputs, options);
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
    CheckOutputs(built, *outputs);
  }
}

TEST_CASE("forward: every operator equals its oracle") {
  if (TestDevice() == nullptr) return;
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    SUBCASE(op.op.c_str()) { CheckForward(op); }
  }
}

TEST_CASE("forward: replays are bit-identical") {
  if (TestDevice() == nullptr) return;
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    if (HasMutatedOperand(*ir::FindOp(op.op))) continue;
    INFO(op.op);
    const SampleGraph built = BuildForward(op);
    RunOptions options;
    options.guarded = false;
    absl::StatusOr<exec::TensorMap> once = RunGraph(*built.graph, built.inputs, options);
    options.replays = 2;
    absl::StatusOr<exec::TensorMap> twice = RunGraph(*built.graph, built.inputs, options);
    REQUIRE(once.ok());
    REQUIRE(twice.ok());
    CHECK((*once == *twice));
  }
}

}  // namespace
}  // namespace oa::testing
