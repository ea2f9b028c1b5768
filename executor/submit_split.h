// Cuts a plan into submits short enough for a watchdog. Pure.
#ifndef OA_EXECUTOR_SUBMIT_SPLIT_H_
#define OA_EXECUTOR_SUBMIT_SPLIT_H_

#include <cstdint>
#include <vector>

#include "schema/plan.h"

namespace oa::exec {

// Dispatches of one stage that are recorded together: a whole stage, or one dispatch of it when
// every dispatch is waited for.
struct StageSlice {
  uint32_t stage = 0;
  uint32_t first_dispatch = 0;
  uint32_t dispatch_count = 0;
};

// One command buffer and one submit.
struct SubmitChunk {
  std::vector<StageSlice> slices;
  double estimated_ms = 0;
};

struct SplitOptions {
  bool is_cpu = false;
  bool serialize = false;  // one dispatch a chunk
  double max_submit_ms = 250;
};

// A rough time of one dispatch; only its order of magnitude matters.
double EstimateMs(const PlanDispatch& dispatch, bool is_cpu);

// Cuts at stage boundaries. A stage that alone exceeds the limit gets its own chunk. There is
// always at least one chunk, so that a plan without stages still moves its inputs and outputs.
std::vector<SubmitChunk> SplitPlan(const Plan& plan, const SplitOptions& options);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_SUBMIT_SPLIT_H_
