// List scheduling on the conflict graph. Each dispatch goes into the first stage after everything
// it depends on, so the number of stages is the length of the longest chain; then dispatches with
// slack move to the last stage before their first dependant when that shortens the life of what
// they write more than it lengthens the life of what they read.
//
// Dependencies are overlapping byte ranges of buffers of which at least one is written. Views and
// in-place versions share a buffer, so they need no rule of their own.
#include "ir/passes/schedule.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace oa::ir {
namespace {

// What has touched one buffer so far.
struct History {
  struct Entry {
    BufferSlice slice;
    uint32_t dispatch;
  };
  std::vector<Entry> writes;
  std::vector<Entry> reads;
};

bool Overlap(const BufferSlice& a, const BufferSlice& b) {
  return a.offset < b.offset + b.size_bytes && b.offset < a.offset + a.size_bytes;
}

bool Covers(const BufferSlice& outer, const BufferSlice& inner) {
  return outer.offset <= inner.offset &&
         inner.offset + inner.size_bytes <= outer.offset + outer.size_bytes;
}

class Scheduler {
 public:
  explicit Scheduler(Program& program)
      : program_(program), predecessors_(program.dispatches.size()),
        successors_(program.dispatches.size()), history_(program.buffers.size()) {}

  void Run() {
    for (uint32_t i = 0; i < program_.dispatches.size(); ++i) FindPredecessors(i);
    AssignEarliest();
    DelayWhereItSaves();
    SortByStage();
  }

 private:
  void Depend(uint32_t later, const std::vector<History::Entry>& earlier,
              const BufferSlice& slice) {
    for (const History::Entry& entry : earlier) {
      if (entry.dispatch == later || !Overlap(entry.slice, slice)) continue;
      predecessors_[later].push_back(entry.dispatch);
      successors_[entry.dispatch].push_back(later);
    }
  }

  void FindPredecessors(uint32_t index) {
    const std::vector<Touch> touches = Touches(program_.dispatches[index]);
    for (const Touch& touch : touches) {
      History& history = history_[touch.slice.buffer];
      Depend(index, history.writes, touch.slice);
      if (Writes(touch.access)) Depend(index, history.reads, touch.slice);
    }
    for (const Touch& touch : touches) {
      History& history = history_[touch.slice.buffer];
      if (Reads(touch.access)) history.reads.push_back({touch.slice, index});
      if (Writes(touch.access)) Overwrite(history, touch.slice, index);
    }
  }

  // Whoever conflicts with an entry that is covered entirely also conflicts with the new write.
  static void Overwrite(History& history, const BufferSlice& slice, uint32_t index) {
    for (std::vector<History::Entry>* entries : {&history.writes, &history.reads}) {
      entries->erase(std::remove_if(entries->begin(), entries->end(),
                                    [&](const History::Entry& entry) {
                                      return entry.dispatch != index && Covers(slice, entry.slice);
                                    }),
                     entries->end());
    }
    history.writes.push_back({slice, index});
  }

  void AssignEarliest() {
    program_.stage_count = program_.dispatches.empty() ? 0 : 1;
    for (uint32_t i = 0; i < program_.dispatches.size(); ++i) {
      uint32_t stage = 0;
      for (uint32_t p : predecessors_[i]) stage = std::max(stage, Stage(p) + 1);
      program_.dispatches[i].stage = stage;
      program_.stage_count = std::max(program_.stage_count, stage + 1);
    }
  }

  void DelayWhereItSaves() {
    for (uint32_t i = static_cast<uint32_t>(program_.dispatches.size()); i-- > 0;) {
      if (successors_[i].empty()) continue;
      uint32_t latest = program_.stage_count - 1;
      for (uint32_t s : successors_[i]) latest = std::min(latest, Stage(s) - 1);
      if (latest > Stage(i) && TransientBytes(i, true) > TransientBytes(i, false)) {
        program_.dispatches[i].stage = latest;
      }
    }
  }

  uint64_t TransientBytes(uint32_t index, bool written) const {
    uint64_t bytes = 0;
    for (const Touch& touch : Touches(program_.dispatches[index])) {
      const bool counts = written ? Writes(touch.access) : Reads(touch.access);
      const bool transient =
          program_.buffers[touch.slice.buffer].kind == BufferKind::kTransient;
      if (counts && transient) bytes += touch.slice.size_bytes;
    }
    return bytes;
  }

  void SortByStage() {
    std::stable_sort(program_.dispatches.begin(), program_.dispatches.end(),
                     [](const Dispatch& a, const Dispatch& b) { return a.stage < b.stage; });
  }

  uint32_t Stage(uint32_t dispatch) const { return program_.dispatches[dispatch].stage; }

  Program& program_;
  std::vector<std::vector<uint32_t>> predecessors_;
  std::vector<std::vector<uint32_t>> successors_;
  std::vector<History> history_;  // by buffer
};

}  // namespace

absl::Status Schedule(Program& program) {
  Scheduler(program).Run();
  return absl::OkStatus();
}

}  // namespace oa::ir
