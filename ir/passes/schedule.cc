// 1. As soon as possible: the stage of a dispatch is the length of the longest path of conflicts
//    that leads to it. The longest path of all is a lower bound, so the stage count is minimal.
// 2. Dispatches with slack (nothing waits for them in the next stage) may run later. From the last
//    to the first, each moves to its latest stage when that shortens the lives of the values it
//    makes by more bytes x stages than it lengthens the lives of those it reads.
// The second schedule is kept only if its peak is lower.
#include "ir/passes/schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/passes/dependencies.h"
#include "schema/checked_math.h"
#include "schema/container.h"

namespace oa::ir {
namespace {

struct Lifetime {
  uint32_t first = UINT32_MAX;
  uint32_t last = 0;
};

std::vector<Lifetime> TransientLifetimes(const Program& program,
                                         const std::vector<uint32_t>& stages) {
  std::vector<Lifetime> lifetimes(program.buffers.size());
  for (size_t i = 0; i < program.dispatches.size(); ++i) {
    for (const Touch& touch : Touches(program.dispatches[i])) {
      Lifetime& life = lifetimes[touch.slice.buffer];
      life.first = std::min(life.first, stages[i]);
      life.last = std::max(life.last, stages[i]);
    }
  }
  return lifetimes;
}

class Delayer {
 public:
  Delayer(const Program& program, const Dependencies& dependencies, std::vector<uint32_t> stages)
      : program_(program), dependencies_(dependencies), stages_(std::move(stages)) {
    users_.resize(program.buffers.size());
    touched_.resize(program.dispatches.size());
    for (uint32_t i = 0; i < touched_.size(); ++i) {
      for (const Touch& touch : Touches(program.dispatches[i])) {
        if (program.buffers[touch.slice.buffer].kind != BufferKind::kTransient) continue;
        touched_[i].push_back(touch.slice.buffer);
      }
      std::sort(touched_[i].begin(), touched_[i].end());
      touched_[i].erase(std::unique(touched_[i].begin(), touched_[i].end()), touched_[i].end());
      for (uint32_t buffer : touched_[i]) users_[buffer].push_back(i);
    }
  }

  std::vector<uint32_t> Run() {
    const uint32_t last = *std::max_element(stages_.begin(), stages_.end());
    for (uint32_t i = static_cast<uint32_t>(stages_.size()); i-- > 0;) {
      uint32_t latest = last;
      for (uint32_t later : dependencies_.after[i]) latest = std::min(latest, stages_[later] - 1);
      if (latest > stages_[i] && Gain(i, latest) > 0) stages_[i] = latest;
    }
    return std::move(stages_);
  }

 private:
  // Bytes x stages by which lives get shorter when `dispatch` moves to `stage`, a later one.
  int64_t Gain(uint32_t dispatch, uint32_t stage) const {
    int64_t gain = 0;
    const int64_t from = stages_[dispatch];
    const int64_t to = stage;
    for (uint32_t buffer : touched_[dispatch]) {
      int64_t first = INT64_MAX;
      int64_t last = -1;
      for (uint32_t user : users_[buffer]) {
        if (user == dispatch) continue;
        first = std::min<int64_t>(first, stages_[user]);
        last = std::max<int64_t>(last, stages_[user]);
      }
      const int64_t before = std::max(last, from) - std::min(first, from);
      const int64_t after = std::max(last, to) - std::min(first, to);
      const auto bytes = static_cast<int64_t>(program_.buffers[buffer].size_bytes);
      gain += (before - after) * bytes;
    }
    return gain;
  }

  const Program& program_;
  const Dependencies& dependencies_;
  std::vector<uint32_t> stages_;
  std::vector<std::vector<uint32_t>> users_;    // of each transient
  std::vector<std::vector<uint32_t>> touched_;  // transients, by dispatch
};

void SortByStage(Program& program, const std::vector<uint32_t>& stages) {
  std::vector<uint32_t> order(stages.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return stages[a] < stages[b]; });
  std::vector<Dispatch> sorted;
  sorted.reserve(order.size());
  for (uint32_t i : order) {
    program.dispatches[i].stage = stages[i];
    sorted.push_back(std::move(program.dispatches[i]));
  }
  program.dispatches = std::move(sorted);
  program.stage_count = program.dispatches.empty() ? 0 : program.dispatches.back().stage + 1;
}

}  // namespace

uint64_t PeakTransientBytes(const Program& program, const std::vector<uint32_t>& stages) {
  if (stages.empty()) return 0;
  // Differences between neighbouring stages, then their running sum.
  std::vector<int64_t> change(*std::max_element(stages.begin(), stages.end()) + 2, 0);
  const std::vector<Lifetime> lifetimes = TransientLifetimes(program, stages);
  for (size_t b = 0; b < lifetimes.size(); ++b) {
    const PlanBuffer& buffer = program.buffers[b];
    if (buffer.kind != BufferKind::kTransient || lifetimes[b].first == UINT32_MAX) continue;
    const auto bytes = static_cast<int64_t>(AlignUp(buffer.size_bytes, kTensorAlignment));
    change[lifetimes[b].first] += bytes;
    change[lifetimes[b].last + 1] -= bytes;
  }
  int64_t alive = 0;
  int64_t peak = 0;
  for (int64_t step : change) {
    alive += step;
    peak = std::max(peak, alive);
  }
  return static_cast<uint64_t>(peak);
}

void Schedule(Program& program) {
  if (program.dispatches.empty()) return;
  const Dependencies dependencies = FindDependencies(program.dispatches);
  std::vector<uint32_t> stages = EarliestStages(dependencies);
  std::vector<uint32_t> delayed = Delayer(program, dependencies, stages).Run();
  if (PeakTransientBytes(program, delayed) < PeakTransientBytes(program, stages)) {
    stages = std::move(delayed);
  }
  SortByStage(program, stages);
}

}  // namespace oa::ir
