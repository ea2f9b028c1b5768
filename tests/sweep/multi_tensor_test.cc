// Optimiser steps of many parameters: one dispatch when fused, and every parameter as the oracle
// updates it, with sizes on both sides of a block boundary.
#include <doctest/doctest.h>

#include <bit>

#include "ir/compile.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using ir::Attributes;
using reference::Tensor;

constexpr uint64_t kSizes[] = {1, 1023, 1024, 1025, 3, 5003, 2};

reference::Forward Oracle(const std::string& op) {
  for (const reference::ReferenceOp& row : reference::OptimiserReference()) {
    if (row.op == op) return row.forward;
  }
  return nullptr;
}

// A step of `op` for every size with `moments` states each, all driven by one block `hyper`.
struct Steps {
  ir::Graph graph{"steps"};
  std::map<std::string, Bytes> inputs;
  std::map<std::string, Tensor> expected;

  ir::ValueId Declare(BufferKind kind, const std::string& name, const Tensor& tensor) {
    const ir::ValueId id = Must(graph.AddStorage(kind, name, tensor.dtype, tensor.shape));
    if (kind == BufferKind::kInput) {
      inputs[name] = ToBytes(tensor);
    } else {
      REQUIRE(graph.SetInitialData(id, Blob::Own(ToBytes(tensor)), "test").ok());
    }
    return id;
  }

  Steps(const std::string& op, const Attributes& attributes, int moments, const Tensor& hyper) {
    const ir::ValueId state = Declare(BufferKind::kState, "hyper", hyper);
    uint64_t seed = 1;
    for (uint64_t size : kSizes) {
      const std::string name = "w" + std::to_string(size);
      std::vector<Tensor> operands;
      std::vector<ir::ValueId> ids;
      for (int i = 0; i < 2 + moments; ++i) {
        operands.push_back(Fill(reference::Uniform({size}, 0.1, 2), seed++));
        ids.push_back(Declare(i == 1 ? BufferKind::kInput : BufferKind::kState,
                              name + "." + std::to_string(i), operands.back()));
      }
      operands.push_back(hyper);
      ids.push_back(state);
      const std::vector<ir::ValueId> results = Must(graph.Record(op, ids, attributes));
      const std::vector<Tensor> updated = Oracle(op)(operands, attributes);
      for (size_t r = 0; r < results.size(); ++r) {
        const std::string output = name + ".result" + std::to_string(r);
        REQUIRE(graph.AddOutput(output, results[r]).ok());
        expected[output] = updated[r];
      }
    }
  }
};

int DispatchesOf(const Plan& plan, const std::string& op) {
  int count = 0;
  for (const PlanDispatch& dispatch : plan.dispatches) {
    count += dispatch.label.find(op) != std::string::npos ? 1 : 0;
  }
  return count;
}

void CheckSteps(const Steps& steps, const std::string& op) {
  for (bool fuse : {true, false}) {
    INFO(op, ", fuse ", fuse);
    ir::CompileOptions compile;
    compile.profile = TestDevice()->info().profile;
    compile.fuse = fuse;
    const ir::Compiled compiled = Must(ir::Compile(steps.graph, TestKernels(), compile));
    CHECK_EQ(DispatchesOf(compiled.plan, op), fuse ? 1 : static_cast<int>(std::size(kSizes)));
    RunOptions options;
    options.fuse = fuse;
    const exec::TensorMap outputs = Must(RunGraph(steps.graph, steps.inputs, options));
    for (const auto& [name, tensor] : steps.expected) {
      INFO(name);
      CHECK_EQ(Compare(FromBytes(DType::F32, tensor.shape, outputs.at(name)), tensor, {}), "");
    }
  }
}

TEST_CASE("multi-tensor: adamw steps of many parameters") {
  if (TestDevice() == nullptr) return;
  const float rule[] = {0.01f, 0.9f, 0.999f, 1e-8f, 0.1f};
  Tensor hyper(DType::U32, {6});
  hyper[0] = 3;
  for (size_t i = 0; i < 5; ++i) hyper[i + 1] = std::bit_cast<uint32_t>(rule[i]);
  const Attributes attributes = Attributes()
                                    .F32("lr", rule[0])
                                    .F32("beta1", rule[1])
                                    .F32("beta2", rule[2])
                                    .F32("epsilon", rule[3])
                                    .F32("weight_decay", rule[4]);
  CheckSteps(Steps("adamw_step", attributes, 2, hyper), "adamw_step");
}

TEST_CASE("multi-tensor: sgd steps of many parameters") {
  if (TestDevice() == nullptr) return;
  Tensor hyper(DType::F32, {3});
  hyper.data = {0.125, 0.5, 0.25};
  const Attributes attributes = Attributes()
                                    .F32("lr", 0.125f)
                                    .F32("momentum", 0.5f)
                                    .F32("weight_decay", 0.25f)
                                    .Bool("nesterov", true);
  CheckSteps(Steps("sgd_step", attributes, 1, hyper), "sgd_step");
}

}  // namespace
}  // namespace oa::testing
