// Sibling rule: elementwise dispatches of the same stage that read the same input become one with
// several outputs, so that the input is read once; typically the gradients of several operands.
// Only dispatches of equal depth in the dependency graph: no path joins those, and nothing waits
// longer than before, so that the depths of all others stay what they are.
#include "ir/passes/compose.h"
#include "ir/passes/fuse_rules.h"

namespace oa::ir {
namespace {

// Looking further back would make long lists of readers of one buffer quadratic.
constexpr size_t kCandidates = 16;

// Bytes of the inputs that both read.
uint64_t SharedBytes(const EwProgram& a, const EwProgram& b) {
  uint64_t bytes = 0;
  for (const EwInput& x : a.inputs) {
    for (const EwInput& y : b.inputs) {
      if (SameBytes(x.slice, y.slice) && x.mode != OA_EW_SCALAR && x.mode == y.mode) {
        bytes += x.slice.size_bytes;
      }
    }
  }
  return bytes;
}

bool Combine(FusionState& state, uint32_t first, uint32_t second, uint32_t& place) {
  const Dispatch& a = state.at(first);
  const Dispatch& b = state.at(second);
  if (!a.elementwise || state.level(first) != state.level(second)) return false;
  if (SharedBytes(*a.elementwise, *b.elementwise) == 0 || Conflicts(a, b)) return false;
  if (!CanCompose(*a.elementwise, *b.elementwise)) return false;
  const std::vector<bool> keep(a.elementwise->outputs.size(), true);
  Dispatch combined = a;
  combined.elementwise = Compose(*a.elementwise, *b.elementwise, keep, kElementwiseLimits);
  if (!EwProblem(combined).empty()) return false;
  const std::optional<uint32_t> meeting = state.MeetingPoint(first, second);
  if (!meeting) return false;
  place = *meeting;
  state.Replace(first, second, place, std::move(combined), "sibling");
  return true;
}

// The dispatches in front of `position` that read one of its inputs, nearest first.
bool CombineWithASibling(FusionState& state, uint32_t& position) {
  const std::vector<EwInput> inputs = state.at(position).elementwise->inputs;
  for (const EwInput& input : inputs) {
    if (input.mode == OA_EW_SCALAR) continue;
    for (uint32_t other : state.NearestUsers(input.slice.buffer, position, kCandidates)) {
      if (Combine(state, other, position, position)) return true;
    }
  }
  return false;
}

}  // namespace

void FuseSiblings(FusionState& state) {
  state.UpdateLevels();
  for (uint32_t i = 0; i < state.size(); ++i) {
    uint32_t position = i;
    while (state.alive(position) && state.at(position).elementwise) {
      if (!CombineWithASibling(state, position)) break;
    }
  }
}

}  // namespace oa::ir
