// Which pipelines a plan needs, and their parallel creation. Stateless.
#ifndef OA_EXECUTOR_PIPELINES_H_
#define OA_EXECUTOR_PIPELINES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/handles.h"
#include "executor/pipeline_cache.h"
#include "executor/program.h"
#include "schema/plan.h"

namespace oa::exec {

// A pipeline is one kernel with one set of specialisation constants.
struct PipelineSpec {
  uint32_t kernel = 0;          // index into Plan::kernels
  uint32_t first_dispatch = 0;  // the first that uses it; has the constants and the label
};

struct PipelinePlan {
  std::vector<PipelineSpec> specs;
  std::vector<uint32_t> of_dispatch;  // index into `specs`
};

PipelinePlan PlanPipelines(const Plan& plan);

// What CreatePipelines reads. `kernels` are those of plan.kernels, in that order.
struct PipelineInputs {
  const Plan& plan;
  absl::Span<const Kernel> kernels;
  const PipelinePlan& pipelines;
  VkPipelineLayout layout;
  VkPipelineCache cache;
};

// One pipeline a spec, in that order. The error names the kernel and the label of its first
// dispatch; when several fail it is the one with the lowest index.
absl::StatusOr<std::vector<Handle<VkPipeline>>> CreatePipelines(DeviceImpl& device,
                                                                const PipelineInputs& inputs,
                                                                const ProgramOptions& options);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_PIPELINES_H_
