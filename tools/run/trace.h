// What the time went into: a table a kernel, and a trace file for Perfetto or chrome://tracing.
#ifndef OA_TOOLS_RUN_TRACE_H_
#define OA_TOOLS_RUN_TRACE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "executor/session.h"
#include "schema/plan.h"
#include "tools/run/timeline.h"

namespace oa::tools {

// Kernels by total time with calls, share, GFLOP/s and GB/s. Fits 80 columns.
std::string KernelTable(const Plan& plan, const std::vector<exec::DispatchTime>& times);

// The latest replay's dispatches and the host's events. Device and host clocks are not the same:
// the replay is placed at `replay_start_us`, when the host submitted it.
// Track "stages" has one event a stage; dispatches that overlap go to separate lanes.
absl::Status WriteTrace(const std::string& path, const Plan& plan,
                        const std::vector<exec::DispatchTime>& times, const Timeline& timeline,
                        double replay_start_us);

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_TRACE_H_
