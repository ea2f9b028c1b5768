// Runner: replays a session step by step, pipelined, and reports what comes out.
#ifndef OA_TOOLS_RUN_RUNNER_H_
#define OA_TOOLS_RUN_RUNNER_H_

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "executor/session.h"
#include "tools/common/progress.h"
#include "tools/common/scalars.h"
#include "tools/run/reporter.h"
#include "tools/run/run_options.h"
#include "tools/run/run_setup.h"
#include "tools/run/timeline.h"

namespace oa::tools {

// Not thread-safe. Everything given must outlive it.
class Runner {
 public:
  Runner(const RunOptions& options, RunSetup& setup, const Plan& plan, exec::Session& session,
         Reporter& reporter, Timeline& timeline);

  // All epochs or steps. An interrupt ends the run after the steps that were submitted; that is
  // not an error.
  absl::Status Run();

  uint64_t steps() const { return steps_; }
  // The outputs of the last step.
  const exec::TensorMap& outputs() const { return outputs_; }
  // When the last step was submitted, on the timeline.
  double last_submit_us() const { return last_submit_us_; }

 private:
  uint64_t PlannedSteps() const;
  absl::Status RunSteps(uint64_t steps);
  absl::Status RunEpoch(uint64_t epoch);
  absl::Status Submit(uint64_t index);
  absl::Status WaitOldest();
  void ReportStep();

  const RunOptions& options_;
  RunSetup& setup_;
  exec::Session& session_;
  Reporter& reporter_;
  Timeline& timeline_;
  Scalars scalars_;
  Progress progress_;
  uint64_t planned_steps_;
  uint64_t log_every_ = 0;
  ByteViews views_;
  std::deque<uint64_t> tickets_;
  exec::TensorMap outputs_;
  uint64_t steps_ = 0;  // finished
  double last_submit_us_ = 0;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_RUNNER_H_
