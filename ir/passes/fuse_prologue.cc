// Prologue rule: an elementwise dispatch `producer` becomes a part of `consumer`, a kernel that
// runs an elementwise program to make its operand (normalisations, softmax): a residual in front of
// a norm, scale and mask in front of a softmax. What the program makes stays in a register; it is
// stored besides if something else needs it, like the sum that the next residual starts from.
//
// Each combination is asked again for the producers of its new inputs.
#include <algorithm>

#include "ir/elementwise_check.h"
#include "ir/passes/compose.h"
#include "ir/passes/fuse_rules.h"

namespace oa::ir {
namespace {

// Whether the consumer sees what the producer writes in another way than through its prologue.
bool ReadsOtherwise(const Dispatch& consumer, const EwProgram& producer) {
  Dispatch rest = consumer;
  rest.prologue.reset();
  for (const Touch& touch : Touches(rest)) {
    for (const EwOutput& output : producer.outputs) {
      if (Overlap(touch.slice, output.slice)) return true;
    }
  }
  return false;
}

// Composition puts the outputs that are kept in front; a prologue starts with the operand.
EwProgram ComposePrologue(const EwProgram& first, const EwProgram& second,
                          const std::vector<bool>& keep) {
  EwProgram program = Compose(first, second, keep, kPrologueLimits);
  const auto kept = std::count(keep.begin(), keep.end(), true);
  std::rotate(program.outputs.begin(), program.outputs.begin() + kept,
              program.outputs.begin() + kept + 1);
  return program;
}

std::optional<uint32_t> Combine(FusionState& state, uint32_t producer, uint32_t consumer) {
  const EwProgram& first = *state.at(producer).elementwise;
  const EwProgram& second = *state.at(consumer).prologue;
  if (!CanCompose(first, second) || ReadsOtherwise(state.at(consumer), first)) return std::nullopt;
  std::vector<bool> keep;
  for (const EwOutput& output : first.outputs) {
    keep.push_back(state.NeededElsewhere(producer, output.slice, consumer));
  }
  const bool any_kept = std::count(keep.begin(), keep.end(), true) > 0;
  if (any_kept && state.DelaysOthers(producer, consumer)) return std::nullopt;
  Dispatch combined = state.at(consumer);
  combined.prologue = ComposePrologue(first, second, keep);
  if (!EwProblem(combined).empty()) return std::nullopt;
  const std::optional<uint32_t> place = state.MeetingPoint(producer, consumer);
  if (place) state.Replace(producer, consumer, *place, std::move(combined), "prologue");
  return place;
}

std::optional<uint32_t> CombineWithAProducer(FusionState& state, uint32_t consumer) {
  // By value: combining replaces the dispatch.
  const std::vector<EwInput> inputs = state.at(consumer).prologue->inputs;
  for (const EwInput& input : inputs) {
    if (input.mode != OA_EW_LINEAR) continue;
    const std::optional<uint32_t> producer = state.LastWriter(input.slice, consumer);
    if (!producer || !state.at(*producer).elementwise) continue;
    const std::optional<uint32_t> place = Combine(state, *producer, consumer);
    if (place) return place;
  }
  return std::nullopt;
}

}  // namespace

void FusePrologues(FusionState& state) {
  state.UpdateLevels();
  for (uint32_t i = 0; i < state.size(); ++i) {
    std::optional<uint32_t> at = i;
    while (at && state.alive(*at) && state.at(*at).prologue) {
      at = CombineWithAProducer(state, *at);
    }
  }
}

}  // namespace oa::ir
