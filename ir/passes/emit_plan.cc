#include "ir/passes/emit_plan.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Kernels in the order of their first use.
class KernelTable {
 public:
  explicit KernelTable(std::vector<PlanKernel>& table) : table_(table) {}

  uint32_t IndexOf(const Kernel& kernel) {
    const auto [entry, is_new] = indices_.emplace(&kernel, static_cast<uint32_t>(table_.size()));
    if (is_new) table_.push_back({kernel.name, kernel.digest});
    return entry->second;
  }

 private:
  std::vector<PlanKernel>& table_;
  absl::flat_hash_map<const Kernel*, uint32_t> indices_;  // never iterated
};

PlanArgument EmitArgument(const Argument& argument) {
  PlanArgument result;
  result.kind = argument.kind;
  if (argument.kind == ArgumentKind::kBuffer) {
    result.buffer = argument.slice.buffer;
    result.offset = argument.slice.offset;
    result.size_bytes = argument.slice.size_bytes;
    result.access = argument.access;
  } else {
    result.bits = argument.bits;
  }
  return result;
}

PlanDispatch EmitDispatch(Dispatch dispatch, KernelTable& kernels) {
  PlanDispatch result;
  result.kernel = kernels.IndexOf(*dispatch.kernel);
  result.arguments.reserve(dispatch.arguments.size());
  for (const Argument& argument : dispatch.arguments) {
    result.arguments.push_back(EmitArgument(argument));
  }
  result.grid = dispatch.grid;
  result.flops = dispatch.flops;
  result.bytes_read = BytesRead(dispatch);
  result.bytes_written = BytesWritten(dispatch);
  result.constants = std::move(dispatch.constants);
  result.label = std::move(dispatch.label);
  result.nodes = std::move(dispatch.nodes);
  return result;
}

std::vector<PlanStage> EmitStages(const Program& program) {
  std::vector<PlanStage> stages(program.stage_count);
  for (const Dispatch& dispatch : program.dispatches) ++stages[dispatch.stage].dispatch_count;
  uint32_t first = 0;
  for (PlanStage& stage : stages) {
    stage.first_dispatch = first;
    first += stage.dispatch_count;
  }
  return stages;
}

absl::Status VerifyOwnPlan(const Plan& plan, const KernelPack& pack) {
  absl::Status status = VerifyPlan(plan, plan.name);
  if (status.ok()) status = VerifyPlanKernels(plan, pack, plan.name);
  if (status.ok()) return status;
  return absl::InternalError(
      absl::StrCat("the compiler made a plan that is not valid: ", status.message()));
}

}  // namespace

absl::StatusOr<Plan> EmitPlan(Program program, const Graph& graph, const KernelPack& pack,
                              const DeviceProfile& profile) {
  Plan plan;
  plan.name = program.name;
  plan.graph_identity = program.graph_identity;
  plan.profile = profile;
  plan.stages = EmitStages(program);
  plan.arenas = std::move(program.arenas);
  plan.buffers = std::move(program.buffers);
  plan.inputs = std::move(program.inputs);
  plan.outputs = std::move(program.outputs);
  plan.test_vectors = graph.test_vectors();
  KernelTable kernels(plan.kernels);
  plan.dispatches.reserve(program.dispatches.size());
  for (Dispatch& dispatch : program.dispatches) {
    plan.dispatches.push_back(EmitDispatch(std::move(dispatch), kernels));
  }
  OA_RETURN_IF_ERROR(VerifyOwnPlan(plan, pack));
  return plan;
}

}  // namespace oa::ir
