#include "tools/run/runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/run/interrupt.h"

namespace oa::tools {
namespace {

// Without --log-every a run without epochs prints about this many lines.
constexpr uint64_t kDefaultLines = 10;

Progress::Options ProgressOptions(const RunOptions& options, const RunSetup& setup,
                                  uint64_t steps) {
  Progress::Options progress;
  progress.enabled = !options.quiet && !options.json;
  progress.total = steps;
  progress.items_per_step = setup.stream ? setup.stream->batch_rows() : 1;
  progress.item = setup.stream ? "rows" : "steps";
  return progress;
}

}  // namespace

Runner::Runner(const RunOptions& options, RunSetup& setup, const Plan& plan, exec::Session& session,
               Reporter& reporter, Timeline& timeline)
    : options_(options),
      setup_(setup),
      session_(session),
      reporter_(reporter),
      timeline_(timeline),
      scalars_(plan.outputs),
      progress_(ProgressOptions(options, setup, PlannedSteps())),
      planned_steps_(PlannedSteps()),
      views_(ViewsOf(setup.inputs)) {
  if (options.log_every) {
    log_every_ = *options.log_every;
  } else if (!setup.stream && planned_steps_ > 1) {
    log_every_ = options.json ? 1 : CeilDiv(planned_steps_, kDefaultLines);
  }
  if (scalars_.empty()) log_every_ = 0;
}

uint64_t Runner::PlannedSteps() const {
  if (!setup_.stream) return options_.steps.value_or(1);
  const uint64_t all =
      CheckedMul(setup_.stream->batches(), options_.epochs.value_or(1)).value_or(UINT64_MAX);
  return std::min(all, options_.steps.value_or(UINT64_MAX));
}

absl::Status Runner::Run() {
  if (!setup_.stream) {
    OA_RETURN_IF_ERROR(RunSteps(planned_steps_));
  } else {
    for (uint64_t epoch = 0; steps_ < planned_steps_ && !Interrupted(); ++epoch) {
      OA_RETURN_IF_ERROR(RunEpoch(epoch));
    }
  }
  progress_.Clear();
  return absl::OkStatus();
}

absl::Status Runner::RunEpoch(uint64_t epoch) {
  BatchStream& stream = *setup_.stream;
  if (options_.shuffle) stream.Shuffle(*options_.shuffle, epoch);
  scalars_.Reset();
  const double start_us = timeline_.Now();
  const uint64_t before = steps_;
  OA_RETURN_IF_ERROR(RunSteps(std::min(stream.batches(), planned_steps_ - steps_)));
  const uint64_t done = steps_ - before;
  if (done == 0) return absl::OkStatus();
  Reporter::EpochFigures figures;
  figures.epoch = epoch + 1;
  figures.epochs = CeilDiv(planned_steps_, stream.batches());
  figures.steps = done;
  figures.rows = done * stream.batch_rows();
  figures.seconds = (timeline_.Now() - start_us) / 1e6;
  progress_.Clear();
  reporter_.Epoch(figures, scalars_);
  timeline_.Add(absl::StrCat("epoch ", epoch + 1), start_us, timeline_.Now());
  return absl::OkStatus();
}

absl::Status Runner::RunSteps(uint64_t steps) {
  for (uint64_t i = 0; i < steps && !Interrupted(); ++i) {
    if (tickets_.size() >= options_.frames) OA_RETURN_IF_ERROR(WaitOldest());
    OA_RETURN_IF_ERROR(Submit(i));
  }
  while (!tickets_.empty()) OA_RETURN_IF_ERROR(WaitOldest());
  return absl::OkStatus();
}

absl::Status Runner::Submit(uint64_t index) {
  if (setup_.stream) setup_.stream->Fill(index, views_);
  last_submit_us_ = timeline_.Now();
  const absl::StatusOr<uint64_t> ticket = session_.Submit(views_);
  if (!ticket.ok()) return WithExit(ticket.status(), kExitDevice);
  timeline_.Add("submit", last_submit_us_, timeline_.Now());
  tickets_.push_back(*ticket);
  return absl::OkStatus();
}

absl::Status Runner::WaitOldest() {
  const double start_us = timeline_.Now();
  absl::StatusOr<exec::TensorMap> outputs = session_.Wait(tickets_.front());
  if (!outputs.ok()) return WithExit(outputs.status(), kExitDevice);
  timeline_.Add("wait", start_us, timeline_.Now());
  tickets_.pop_front();
  outputs_ = *std::move(outputs);
  scalars_.Add(outputs_);
  ++steps_;
  ReportStep();
  return absl::OkStatus();
}

void Runner::ReportStep() {
  progress_.Update(steps_, [this] { return scalars_.LastText(); });
  if (log_every_ == 0) return;
  if (steps_ % log_every_ != 0 && steps_ != planned_steps_) return;
  progress_.Clear();
  reporter_.Step(steps_, scalars_);
}

}  // namespace oa::tools
