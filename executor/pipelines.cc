#include "executor/pipelines.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace oa::exec {
namespace {

// Creates pipelines from several threads until all exist or one failed. Work() is thread-safe.
class Builder {
 public:
  Builder(DeviceImpl& device, const PipelineInputs& inputs, const ProgramOptions& options)
      : device_(device),
        inputs_(inputs),
        options_(options),
        total_(inputs.pipelines.specs.size()),
        pipelines_(total_),
        modules_(inputs.kernels.size()) {}

  absl::Status CreateModules();
  absl::StatusOr<std::vector<Handle<VkPipeline>>> Run();

 private:
  void Work();
  absl::StatusOr<Handle<VkPipeline>> Create(const PipelineSpec& spec);
  void Finish(size_t index, absl::StatusOr<Handle<VkPipeline>> pipeline);

  DeviceImpl& device_;
  const PipelineInputs& inputs_;
  const ProgramOptions& options_;
  const size_t total_;
  std::vector<Handle<VkPipeline>> pipelines_;
  std::vector<Handle<VkShaderModule>> modules_;  // by kernel
  std::mutex mutex_;
  size_t next_ = 0;  // guarded by mutex_, like all below
  int done_ = 0;
  size_t failed_index_ = SIZE_MAX;
  absl::Status failure_;
};

absl::Status Builder::CreateModules() {
  for (const PipelineSpec& spec : inputs_.pipelines.specs) {
    if (modules_[spec.kernel]) continue;
    const Kernel& kernel = inputs_.kernels[spec.kernel];
    VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info.codeSize = kernel.spirv.size();
    info.pCode = reinterpret_cast<const uint32_t*>(kernel.spirv.bytes().data());
    const std::string what = absl::StrCat("kernel \"", kernel.name, "\"");
    OA_ASSIGN_OR_RETURN(modules_[spec.kernel], OA_VK_CREATE(device_, ShaderModule, what, info));
  }
  return absl::OkStatus();
}

absl::StatusOr<Handle<VkPipeline>> Builder::Create(const PipelineSpec& spec) {
  const Kernel& kernel = inputs_.kernels[spec.kernel];
  const PlanDispatch& dispatch = inputs_.plan.dispatches[spec.first_dispatch];
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < kernel.constants.size(); ++i) {
    entries.push_back({kernel.constants[i].id, i * 4, 4});
  }
  VkSpecializationInfo constants = {};
  constants.mapEntryCount = static_cast<uint32_t>(entries.size());
  constants.pMapEntries = entries.data();
  constants.dataSize = dispatch.constants.size() * sizeof(uint32_t);
  constants.pData = dispatch.constants.data();

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  subgroup.requiredSubgroupSize = kernel.subgroup_size;
  VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = modules_[spec.kernel].get();
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  const DeviceLimits& limits = device_.limits();
  if (kernel.subgroup_size != 0 && limits.min_subgroup_size < limits.max_subgroup_size) {
    info.stage.pNext = &subgroup;
  }
  info.layout = inputs_.layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const std::string what = absl::StrCat("kernel \"", kernel.name, "\" of dispatch ",
                                        spec.first_dispatch, " (", dispatch.label, ")");
  OA_RETURN_IF_ERROR(OA_VK_CALL(device_, vkCreateComputePipelines, what, device_.handle(),
                                inputs_.cache, 1, &info, nullptr, &pipeline));
  return Handle<VkPipeline>(device_, pipeline, device_.vk().vkDestroyPipeline);
}

void Builder::Finish(size_t index, absl::StatusOr<Handle<VkPipeline>> pipeline) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (pipeline.ok()) {
    pipelines_[index] = *std::move(pipeline);
    ++done_;
    if (options_.on_progress) options_.on_progress(done_, static_cast<int>(total_));
  } else if (index < failed_index_) {
    failed_index_ = index;
    failure_ = pipeline.status();
  }
}

void Builder::Work() {
  while (true) {
    size_t index = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (next_ >= total_ || !failure_.ok()) return;
      index = next_++;
    }
    Finish(index, Create(inputs_.pipelines.specs[index]));
  }
}

absl::StatusOr<std::vector<Handle<VkPipeline>>> Builder::Run() {
  const unsigned wanted =
      options_.threads != 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  try {
    for (size_t i = 1; i < std::min<size_t>(wanted, total_); ++i) {
      helpers.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {
    // No more threads to be had: this one does the work.
  }
  Work();
  for (std::thread& helper : helpers) helper.join();
  if (!failure_.ok()) return failure_;
  return std::move(pipelines_);
}

}  // namespace

PipelinePlan PlanPipelines(const Plan& plan) {
  PipelinePlan result;
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, uint32_t> known;
  result.of_dispatch.reserve(plan.dispatches.size());
  for (uint32_t i = 0; i < plan.dispatches.size(); ++i) {
    const PlanDispatch& dispatch = plan.dispatches[i];
    const auto [entry, inserted] = known.try_emplace({dispatch.kernel, dispatch.constants},
                                                     static_cast<uint32_t>(result.specs.size()));
    if (inserted) result.specs.push_back({dispatch.kernel, i});
    result.of_dispatch.push_back(entry->second);
  }
  return result;
}

absl::StatusOr<std::vector<Handle<VkPipeline>>> CreatePipelines(DeviceImpl& device,
                                                                const PipelineInputs& inputs,
                                                                const ProgramOptions& options) {
  Builder builder(device, inputs, options);
  OA_RETURN_IF_ERROR(builder.CreateModules());
  return builder.Run();
}

}  // namespace oa::exec
