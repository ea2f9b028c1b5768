#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "executor/memory_report.h"
#include "executor/program_impl.h"
#include "schema/status_macros.h"

namespace oa::exec {
namespace {

// The axis on which `values` exceed `limits`, or -1.
template <class Limits>
int ExceedingAxis(const std::array<uint32_t, 3>& values, const Limits& limits) {
  for (int axis = 0; axis < 3; ++axis) {
    if (values[axis] > limits[axis]) return axis;
  }
  return -1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> Program::Create(Device& device, Plan plan,
                                                         const KernelPack& pack,
                                                         const ProgramOptions& options) {
  auto program = std::make_unique<ProgramImpl>(static_cast<DeviceImpl&>(device), std::move(plan));
  OA_RETURN_IF_ERROR(program->Initialize(pack, options));
  return program;
}

absl::Status ProgramImpl::Initialize(const KernelPack& pack, const ProgramOptions& options) {
  // Again for a plan that comes from a file, for the first time for one made in this process.
  OA_RETURN_IF_ERROR(VerifyPlan(plan_, plan_.name));
  if (plan_.bundled_pack.empty()) {
    OA_RETURN_IF_ERROR(ResolveKernels(pack));
  } else {
    OA_ASSIGN_OR_RETURN(const KernelPack bundled,
                        KernelPack::Parse(plan_.bundled_pack,
                                          absl::StrCat("pack inside plan \"", plan_.name, "\"")));
    OA_RETURN_IF_ERROR(ResolveKernels(bundled));
  }
  OA_RETURN_IF_ERROR(CheckDevice());
  blocks_ = PlaceArgumentBlocks(plan_, kernels_);
  pipeline_plan_ = PlanPipelines(plan_);
  OA_RETURN_IF_ERROR(CreateLayout());

  const auto start = std::chrono::steady_clock::now();
  OA_ASSIGN_OR_RETURN(const PipelineCache cache, PipelineCache::Load(device_));
  const PipelineInputs inputs = {plan_, kernels_, pipeline_plan_, layout_.get(), cache.get()};
  OA_ASSIGN_OR_RETURN(pipelines_, CreatePipelines(device_, inputs, options));
  cache.Save(device_);
  stats_.pipelines = static_cast<int>(pipelines_.size());
  stats_.cache_hit = cache.hit();
  stats_.pipeline_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return absl::OkStatus();
}

absl::Status ProgramImpl::ResolveKernels(const KernelPack& pack) {
  OA_RETURN_IF_ERROR(VerifyPlanKernels(plan_, pack, plan_.name));
  for (const PlanKernel& wanted : plan_.kernels) kernels_.push_back(*pack.Find(wanted.name));
  return absl::OkStatus();
}

// The plan was compiled for a profile; this is the device it meets.
absl::Status ProgramImpl::CheckDevice() const {
  const DeviceProfile& profile = device_.info().profile;
  const uint32_t axis_limit = profile.max_workgroups_per_axis;
  const std::array<uint32_t, 3> grid_limits = {axis_limit, axis_limit, axis_limit};
  for (uint32_t i = 0; i < plan_.dispatches.size(); ++i) {
    const PlanDispatch& dispatch = plan_.dispatches[i];
    const Kernel& kernel = kernels_[dispatch.kernel];
    std::string reason = WhyNotRunnable(kernel, profile);
    if (int axis = ExceedingAxis(kernel.local_size, device_.limits().max_local_size); axis >= 0) {
      reason =
          absl::StrFormat("its workgroups have %u invocations on axis %d, the device allows %u",
                          kernel.local_size[axis], axis, device_.limits().max_local_size[axis]);
    }
    if (int axis = ExceedingAxis(dispatch.grid, grid_limits); axis >= 0) {
      reason = absl::StrFormat("its grid has %u workgroups on axis %d, the device allows %u",
                               dispatch.grid[axis], axis, axis_limit);
    }
    if (reason.empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "plan \"", plan_.name, "\" cannot run on \"", device_.info().name, "\": ", DispatchText(i),
        ": ", reason, "; compile the graph for this device's profile"));
  }
  return absl::OkStatus();
}

// One layout serves every pipeline: a push constant with the address of the argument block.
absl::Status ProgramImpl::CreateLayout() {
  VkPushConstantRange range = {};
  range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  range.size = sizeof(VkDeviceAddress);
  VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  OA_ASSIGN_OR_RETURN(layout_, OA_VK_CREATE(device_, PipelineLayout, "all kernels", info));
  return absl::OkStatus();
}

std::string ProgramImpl::DispatchText(uint32_t dispatch) const {
  const PlanDispatch& entry = plan_.dispatches[dispatch];
  return absl::StrCat("dispatch ", dispatch, " (", entry.label, ", kernel ",
                      plan_.kernels[entry.kernel].name, ")");
}

}  // namespace oa::exec
