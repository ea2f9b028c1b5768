// What rows say about their kernels (OpDef::kernels) against what their samples are lowered to, for
// several devices. Needs no device.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/compile.h"
#include "ir/differentiate.h"
#include "ir/op.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/sweep/sample_graph.h"

namespace oa::testing {
namespace {

std::vector<DeviceProfile> Profiles() {
  DeviceProfile portable;
  DeviceProfile cpu;
  cpu.name = "cpu";
  cpu.is_cpu = true;
  cpu.subgroup_size = 8;
  cpu.compute_units = 2;
  cpu.features = {"subgroup_arithmetic"};
  DeviceProfile gpu;
  gpu.name = "gpu";
  gpu.subgroup_size = 32;
  gpu.shared_memory_bytes = 48 * 1024;
  gpu.max_workgroup_invocations = 1024;
  gpu.compute_units = 1;  // so that small samples are enough for large tiles
  gpu.features = {"subgroup_arithmetic"};
  return {portable, cpu, gpu};
}

bool HasGradient(const ir::Graph& graph, ir::ValueId id, bool differentiable) {
  return id != ir::kAbsent && differentiable && graph.value(id).dtype == DType::F32;
}

// The gradients of the sum over all results become outputs.
void AddGradients(const ir::OpDef& row, const std::vector<ir::ValueId>& operands,
                  const std::vector<ir::ValueId>& results, const std::string& prefix,
                  ir::Graph& graph) {
  ir::ValueId loss = ir::kAbsent;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!HasGradient(graph, results[r], row.result(r).differentiable)) continue;
    const ir::ValueId sum =
        Must(graph.Record("sum", {results[r]}, ir::Attributes().Optional("axis", std::nullopt)))[0];
    loss = loss == ir::kAbsent ? sum : Must(graph.Record("add", {loss, sum}))[0];
  }
  std::vector<ir::ValueId> targets;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (HasGradient(graph, operands[i], row.operand(i).differentiable)) {
      targets.push_back(operands[i]);
    }
  }
  if (loss == ir::kAbsent || targets.empty()) return;
  const std::vector<ir::ValueId> gradients = Must(ir::Differentiate(graph, loss, targets));
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] == ir::kAbsent) continue;
    REQUIRE(graph.AddOutput(absl::StrCat(prefix, ".gradient", i), gradients[i]).ok());
  }
}

// Every sample of `op` with its gradients.
SampleGraph BuildSamples(const reference::ReferenceOp& op) {
  const ir::OpDef& row = *ir::FindOp(op.op);
  SampleGraph built;
  built.graph = std::make_unique<ir::Graph>(op.op);
  for (size_t s = 0; s < op.samples.size(); ++s) {
    const std::string prefix = absl::StrCat("s", s);
    const std::vector<ir::ValueId> operands = DeclareOperands(op, s, SampleOperands(op, s), built);
    const std::vector<ir::ValueId> results =
        Must(built.graph->Record(op.op, operands, op.samples[s].attributes));
    for (size_t r = 0; r < results.size(); ++r) {
      if (results[r] == ir::kAbsent) continue;
      REQUIRE(built.graph->AddOutput(absl::StrCat(prefix, ".result", r), results[r]).ok());
    }
    if (row.adjoint != nullptr && op.samples[s].differentiate) {
      AddGradients(row, operands, results, prefix, *built.graph);
    }
  }
  return built;
}

std::string DeclaredName(const Kernel& kernel) {
  return absl::StartsWith(kernel.base, "elementwise_") ? ir::kElementwise : kernel.base;
}

// Names of operators whose rows do not list a kernel that `plan` uses for them.
void FindUndeclared(const Plan& plan, std::set<std::string>& undeclared) {
  for (const PlanDispatch& dispatch : plan.dispatches) {
    const ir::OpDef* row = ir::FindOp(dispatch.label);
    const Kernel* kernel = TestKernels().Find(plan.kernels[dispatch.kernel].name);
    REQUIRE_NE(kernel, nullptr);
    // The compiler's own copies have the name of the operator they are like.
    if (row == nullptr || row->name == "copy") continue;
    const std::string name = DeclaredName(*kernel);
    if (std::count(row->kernels.begin(), row->kernels.end(), name) > 0) continue;
    undeclared.insert(absl::StrCat(row->name, " uses ", name));
  }
}

TEST_CASE("kernels: rows list what their samples are lowered to") {
  std::set<std::string> undeclared;
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    INFO(op.op);
    const SampleGraph built = BuildSamples(op);
    for (const DeviceProfile& profile : Profiles()) {
      ir::CompileOptions options;
      options.profile = profile;
      options.fuse = false;
      FindUndeclared(Must(ir::Compile(*built.graph, TestKernels(), options)).plan, undeclared);
    }
  }
  CHECK_EQ(absl::StrJoin(undeclared, ", "), "");
}

TEST_CASE("kernels: the pack has every kernel that a row lists, and rows list every kernel") {
  std::set<std::string> in_pack, in_rows;
  for (const Kernel& kernel : TestKernels().kernels()) in_pack.insert(DeclaredName(kernel));
  for (const ir::OpDef& row : ir::OpTable()) {
    in_rows.insert(row.kernels.begin(), row.kernels.end());
  }
  CHECK_EQ(absl::StrJoin(in_rows, ", "), absl::StrJoin(in_pack, ", "));
}

}  // namespace
}  // namespace oa::testing
