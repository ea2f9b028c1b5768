// chain: y = f(x), z = g(y, ...) become z = g(f(x), ...) in one dispatch.
#include <algorithm>

#include "ir/passes/fusion_state.h"

namespace oa::ir {
namespace {

bool Merge(FusionState& state, uint32_t producer, uint32_t consumer) {
  const Dispatch& first = state.at(producer);
  const Dispatch& second = state.at(consumer);
  if (!first.elementwise) return false;
  std::vector<bool> keep;
  for (const EwOutput& output : first.elementwise->outputs) {
    keep.push_back(state.NeededBeyond(producer, consumer, output.slice));
  }
  std::optional<EwProgram> merged = ConcatPrograms(*first.elementwise, *second.elementwise, keep,
                                                   /*accumulator=*/false, kElementwiseLimits);
  if (!merged) return false;
  const std::optional<uint32_t> place = state.MeetingPlace(producer, consumer);
  if (!place) return false;
  Dispatch dispatch;
  dispatch.elementwise = std::move(merged);
  state.Replace(producer, consumer, *place, std::move(dispatch), "chain");
  return true;
}

}  // namespace

bool FuseChains(FusionState& state) {
  bool changed = false;
  for (uint32_t d = 0; d < state.size(); ++d) {
    bool merged = true;
    while (merged && state.alive(d) && state.at(d).elementwise) {
      merged = false;
      const EwProgram program = *state.at(d).elementwise;
      for (const EwInput& input : program.inputs) {
        const std::optional<uint32_t> producer = state.WriterBefore(d, input.slice);
        if (!producer || !Merge(state, *producer, d)) continue;
        merged = changed = true;
        break;
      }
    }
  }
  return changed;
}

}  // namespace oa::ir
