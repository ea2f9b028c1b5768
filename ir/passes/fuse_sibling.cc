// sibling: y = f(x), z = g(x) become one dispatch that reads x once.
#include <algorithm>

#include "ir/passes/fusion_state.h"

namespace oa::ir {
namespace {

// A linear F32-sized input both read.
bool ShareInput(const EwProgram& a, const EwProgram& b) {
  for (const EwInput& x : a.inputs) {
    for (const EwInput& y : b.inputs) {
      if (x.mode == OA_EW_LINEAR && y.mode == OA_EW_LINEAR && x.type == y.type &&
          SameSlice(x.slice, y.slice)) {
        return true;
      }
    }
  }
  return false;
}

bool Merge(FusionState& state, uint32_t first, uint32_t second) {
  const Dispatch& a = state.at(first);
  const Dispatch& b = state.at(second);
  if (!ShareInput(*a.elementwise, *b.elementwise) || Conflicts(a, b)) return false;
  const std::vector<bool> keep(a.elementwise->outputs.size(), true);
  std::optional<EwProgram> merged = ConcatPrograms(*a.elementwise, *b.elementwise, keep,
                                                   /*accumulator=*/false, kElementwiseLimits);
  if (!merged) return false;
  const std::optional<uint32_t> place = state.MeetingPlace(first, second);
  if (!place) return false;
  Dispatch dispatch;
  dispatch.elementwise = std::move(merged);
  state.Replace(first, second, *place, std::move(dispatch), "sibling");
  return true;
}

// Live elementwise dispatches before `d` that read one of its inputs, nearest first.
std::vector<uint32_t> Candidates(const FusionState& state, uint32_t d, const EwProgram& program) {
  std::vector<uint32_t> candidates;
  for (const EwInput& input : program.inputs) {
    for (uint32_t other : state.Touching(input.slice.buffer)) {
      if (other < d && state.alive(other)) candidates.push_back(other);
    }
  }
  std::sort(candidates.begin(), candidates.end(), std::greater<uint32_t>());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  return candidates;
}

}  // namespace

bool FuseSiblings(FusionState& state) {
  bool changed = false;
  for (uint32_t d = 0; d < state.size(); ++d) {
    if (!state.alive(d) || !state.at(d).elementwise) continue;
    for (uint32_t other : Candidates(state, d, *state.at(d).elementwise)) {
      if (!state.at(other).elementwise || !Merge(state, other, d)) continue;
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace oa::ir
