#include "ir/passes/fusion_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/passes/dependencies.h"

namespace oa::ir {
namespace {

bool Covers(const BufferSlice& outer, const BufferSlice& inner) {
  return outer.buffer == inner.buffer && outer.offset <= inner.offset &&
         outer.offset + outer.size_bytes >= inner.offset + inner.size_bytes;
}

uint64_t BytesMoved(const Dispatch& dispatch) {
  return BytesRead(dispatch) + BytesWritten(dispatch);
}

}  // namespace

FusionState::FusionState(Program& program)
    : program_(program),
      dispatches_(std::move(program.dispatches)),
      alive_(dispatches_.size(), true),
      histories_(dispatches_.size()),
      touches_(dispatches_.size()),
      users_(program.buffers.size()),
      writers_(program.buffers.size()) {
  for (uint32_t i = 0; i < size(); ++i) Register(i);
  UpdateLevels();
}

void FusionState::Register(uint32_t position) {
  touches_[position] = Touches(dispatches_[position]);
  for (const Touch& touch : touches_[position]) {
    users_[touch.slice.buffer].insert(position);
    if (Writes(touch.access)) writers_[touch.slice.buffer].insert(position);
  }
}

void FusionState::Unregister(uint32_t position) {
  for (const Touch& touch : touches_[position]) {
    users_[touch.slice.buffer].erase(position);
    writers_[touch.slice.buffer].erase(position);
  }
  touches_[position].clear();
}

std::optional<uint32_t> FusionState::LastWriter(const BufferSlice& slice, uint32_t position) const {
  const std::set<uint32_t>& writers = writers_[slice.buffer];
  for (auto it = writers.lower_bound(position); it != writers.begin();) {
    --it;
    for (const Touch& touch : touches_[*it]) {
      if (Writes(touch.access) && Overlap(touch.slice, slice)) return *it;
    }
  }
  return std::nullopt;
}

bool FusionState::NeededElsewhere(uint32_t writer, const BufferSlice& slice,
                                  uint32_t reader) const {
  const std::set<uint32_t>& users = users_[slice.buffer];
  for (auto it = users.upper_bound(writer); it != users.end(); ++it) {
    bool overwritten = false;
    for (const Touch& touch : touches_[*it]) {
      const bool reads = Reads(touch.access) && Overlap(touch.slice, slice);
      if (reads && *it != reader) return true;
      overwritten |= Writes(touch.access) && Covers(touch.slice, slice);
    }
    if (overwritten) return false;
  }
  return program_.buffers[slice.buffer].kind != BufferKind::kTransient;
}

bool FusionState::DelaysOthers(uint32_t producer, uint32_t consumer) const {
  for (const Touch& touch : touches_[consumer]) {
    if (!Reads(touch.access)) continue;
    const std::optional<uint32_t> writer = LastWriter(touch.slice, consumer);
    if (writer && *writer != producer && level(*writer) >= level(producer)) return true;
  }
  return false;
}

bool FusionState::CanMove(uint32_t from, uint32_t to) const {
  const auto [low, high] = std::minmax(from, to);
  for (const Touch& own : touches_[from]) {
    const bool writes = Writes(own.access);
    const std::set<uint32_t>& others = (writes ? users_ : writers_)[own.slice.buffer];
    for (auto it = others.upper_bound(low); it != others.end() && *it < high; ++it) {
      for (const Touch& touch : touches_[*it]) {
        if ((writes || Writes(touch.access)) && Overlap(own.slice, touch.slice)) return false;
      }
    }
  }
  return true;
}

std::optional<uint32_t> FusionState::MeetingPoint(uint32_t first, uint32_t second) const {
  if (CanMove(first, second)) return second;
  if (CanMove(second, first)) return first;
  return std::nullopt;
}

std::vector<uint32_t> FusionState::NearestUsers(uint32_t buffer, uint32_t position,
                                                size_t limit) const {
  std::vector<uint32_t> nearest;
  const std::set<uint32_t>& users = users_[buffer];
  for (auto it = users.lower_bound(position); it != users.begin() && nearest.size() < limit;) {
    nearest.push_back(*--it);
  }
  return nearest;
}

void FusionState::UpdateLevels() {
  std::vector<uint32_t> positions;
  std::vector<Dispatch> remaining;
  for (uint32_t i = 0; i < size(); ++i) {
    if (!alive_[i]) continue;
    positions.push_back(i);
    remaining.push_back(dispatches_[i]);
  }
  const std::vector<uint32_t> stages = EarliestStages(FindDependencies(remaining));
  levels_.assign(size(), 0);
  for (size_t k = 0; k < positions.size(); ++k) levels_[positions[k]] = stages[k];
}

void FusionState::Replace(uint32_t first, uint32_t second, uint32_t place, Dispatch combined,
                          const char* rule) {
  const Dispatch& a = dispatches_[first];
  const Dispatch& b = dispatches_[second];
  combined.label = absl::StrCat(a.label, "+", b.label);
  combined.nodes = a.nodes;
  combined.nodes.insert(combined.nodes.end(), b.nodes.begin(), b.nodes.end());
  std::sort(combined.nodes.begin(), combined.nodes.end());
  combined.nodes.erase(std::unique(combined.nodes.begin(), combined.nodes.end()),
                       combined.nodes.end());
  combined.flops = a.flops + b.flops;
  History history = histories_[first];
  for (const std::string& earlier : histories_[second].rules) history.rules.push_back(earlier);
  history.rules.push_back(rule);
  std::sort(history.rules.begin(), history.rules.end());
  history.rules.erase(std::unique(history.rules.begin(), history.rules.end()), history.rules.end());
  const uint64_t before = BytesMoved(a) + BytesMoved(b);
  const uint64_t after = BytesMoved(combined);
  history.bytes_saved += histories_[second].bytes_saved + (before > after ? before - after : 0);

  Unregister(first);
  Unregister(second);
  alive_[first] = alive_[second] = false;
  dispatches_[first] = dispatches_[second] = Dispatch();
  alive_[place] = true;
  dispatches_[place] = std::move(combined);
  histories_[place] = std::move(history);
  Register(place);
  levels_[place] = LevelFromNeighbours(place);
}

uint32_t FusionState::LevelFromNeighbours(uint32_t position) const {
  uint32_t level = 0;
  for (const Touch& own : touches_[position]) {
    const std::set<uint32_t>& others = (Writes(own.access) ? users_ : writers_)[own.slice.buffer];
    bool done = false;
    for (auto it = others.lower_bound(position); it != others.begin() && !done;) {
      --it;
      for (const Touch& touch : touches_[*it]) {
        if (!Overlap(own.slice, touch.slice)) continue;
        if (!Writes(own.access) && !Writes(touch.access)) continue;
        level = std::max(level, levels_[*it] + 1);
        // Whatever came before this one is ordered before it.
        done |= Writes(touch.access) && Covers(touch.slice, own.slice);
      }
    }
  }
  return level;
}

std::vector<FusionNote> FusionState::Finish() {
  std::vector<FusionNote> notes;
  for (uint32_t i = 0; i < size(); ++i) {
    if (!alive_[i]) continue;
    const History& history = histories_[i];
    if (!history.rules.empty()) {
      notes.push_back(
          {dispatches_[i].label, absl::StrJoin(history.rules, ", "), history.bytes_saved});
    }
    program_.dispatches.push_back(std::move(dispatches_[i]));
  }
  DropUnusedTransients(program_);
  return notes;
}

}  // namespace oa::ir
