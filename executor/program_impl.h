// ProgramImpl: the plan, its kernels and their pipelines. Immutable after creation.
#ifndef OA_EXECUTOR_PROGRAM_IMPL_H_
#define OA_EXECUTOR_PROGRAM_IMPL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "executor/arguments.h"
#include "executor/pipelines.h"
#include "executor/program.h"

namespace oa::exec {

class ProgramImpl final : public Program {
 public:
  ProgramImpl(DeviceImpl& device, Plan plan) : device_(device), plan_(std::move(plan)) {}

  absl::Status Initialize(const KernelPack& pack, const ProgramOptions& options);

  const Plan& plan() const override { return plan_; }
  const ProgramStats& stats() const override { return stats_; }

  DeviceImpl& device() const { return device_; }
  VkPipelineLayout layout() const { return layout_.get(); }
  VkPipeline pipeline(uint32_t dispatch) const {
    return pipelines_[pipeline_plan_.of_dispatch[dispatch]].get();
  }
  // By index into Plan::kernels.
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const ArgumentBlocks& blocks() const { return blocks_; }

  // "dispatch 7 (linear+relu, kernel gemm_f32)".
  std::string DispatchText(uint32_t dispatch) const;

 private:
  absl::Status ResolveKernels(const KernelPack& pack);
  absl::Status CheckDevice() const;
  absl::Status CreateLayout();

  DeviceImpl& device_;
  Plan plan_;
  std::vector<Kernel> kernels_;
  ArgumentBlocks blocks_;
  PipelinePlan pipeline_plan_;
  Handle<VkPipelineLayout> layout_;
  std::vector<Handle<VkPipeline>> pipelines_;
  ProgramStats stats_;
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_PROGRAM_IMPL_H_
