#include "executor/submit_split.h"

#include <algorithm>

namespace oa::exec {
namespace {

// Deliberately low, so that a chunk rather takes less than the limit.
struct Speed {
  double flops_per_ms;
  double bytes_per_ms;
  double dispatch_ms;
};
constexpr Speed kCpuSpeed = {2e6, 2e6, 0.03};
constexpr Speed kGpuSpeed = {5e9, 5e8, 0.002};

std::vector<SubmitChunk> SplitByDispatch(const Plan& plan, const SplitOptions& options) {
  std::vector<SubmitChunk> chunks;
  for (uint32_t s = 0; s < plan.stages.size(); ++s) {
    const PlanStage& stage = plan.stages[s];
    for (uint32_t i = 0; i < stage.dispatch_count; ++i) {
      const uint32_t dispatch = stage.first_dispatch + i;
      chunks.push_back({{{s, dispatch, 1}}, EstimateMs(plan.dispatches[dispatch], options.is_cpu)});
    }
  }
  if (chunks.empty()) chunks.emplace_back();
  return chunks;
}

}  // namespace

double EstimateMs(const PlanDispatch& dispatch, bool is_cpu) {
  const Speed& speed = is_cpu ? kCpuSpeed : kGpuSpeed;
  const double compute_ms = static_cast<double>(dispatch.flops) / speed.flops_per_ms;
  const double bytes =
      static_cast<double>(dispatch.bytes_read) + static_cast<double>(dispatch.bytes_written);
  return speed.dispatch_ms + std::max(compute_ms, bytes / speed.bytes_per_ms);
}

std::vector<SubmitChunk> SplitPlan(const Plan& plan, const SplitOptions& options) {
  if (options.serialize) return SplitByDispatch(plan, options);
  std::vector<SubmitChunk> chunks(1);
  for (uint32_t s = 0; s < plan.stages.size(); ++s) {
    const PlanStage& stage = plan.stages[s];
    double stage_ms = 0;
    for (uint32_t i = 0; i < stage.dispatch_count; ++i) {
      stage_ms += EstimateMs(plan.dispatches[stage.first_dispatch + i], options.is_cpu);
    }
    SubmitChunk* chunk = &chunks.back();
    if (!chunk->slices.empty() && chunk->estimated_ms + stage_ms > options.max_submit_ms) {
      chunk = &chunks.emplace_back();
    }
    chunk->slices.push_back({s, stage.first_dispatch, stage.dispatch_count});
    chunk->estimated_ms += stage_ms;
  }
  return chunks;
}

}  // namespace oa::exec
