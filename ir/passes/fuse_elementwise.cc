// Two rules with one mechanism: an elementwise dispatch `consumer` that reads, element by element,
// what `producer` has computed becomes a part of `producer`.
//
//   epilogue: producer is a product, convolution, normalisation or softmax whose kernel runs an
//             elementwise program on its result before storing it.
//   chain:    producer is itself an elementwise dispatch.
//
// The value between the two stays in a register. It is stored only if something else needs it (the
// backward of gelu needs its input, that of relu its output); even then one read is saved.
//
// Consumers are visited in program order, and each combination is asked again for its own
// producers, so that trees collapse from the leaves to the root.
#include "ir/elementwise_check.h"
#include "ir/passes/compose.h"
#include "ir/passes/fuse_rules.h"

namespace oa::ir {
namespace {

struct Rule {
  const char* name;
  const EwLimits& limits;
  // The program of a dispatch that the rule accepts as producer, or null.
  const EwProgram* (*producer_program)(const Dispatch&);
};

const Rule kEpilogueRule = {"epilogue", kEpilogueLimits,
                            [](const Dispatch& d) { return d.epilogue ? &*d.epilogue : nullptr; }};
const Rule kChainRule = {"chain", kElementwiseLimits, [](const Dispatch& d) {
                           return d.elementwise ? &*d.elementwise : nullptr;
                         }};

// Combines the two; returns where the result is.
std::optional<uint32_t> Combine(FusionState& state, const Rule& rule, uint32_t producer,
                                uint32_t consumer) {
  const EwProgram& first = *rule.producer_program(state.at(producer));
  const EwProgram& second = *state.at(consumer).elementwise;
  if (!CanCompose(first, second)) return std::nullopt;
  std::vector<bool> keep;
  bool any_kept = false;
  for (const EwOutput& output : first.outputs) {
    keep.push_back(state.NeededElsewhere(producer, output.slice, consumer));
    any_kept |= keep.back();
  }
  if (any_kept && state.DelaysOthers(producer, consumer)) return std::nullopt;
  Dispatch combined = state.at(producer);
  std::optional<EwProgram>& program =
      combined.elementwise ? combined.elementwise : combined.epilogue;
  program = Compose(first, second, keep, rule.limits);
  if (!EwProblem(combined).empty()) return std::nullopt;
  const std::optional<uint32_t> place = state.MeetingPoint(producer, consumer);
  if (place) state.Replace(producer, consumer, *place, std::move(combined), rule.name);
  return place;
}

std::optional<uint32_t> CombineWithAProducer(FusionState& state, const Rule& rule,
                                             uint32_t consumer) {
  // By value: combining replaces the dispatch.
  const std::vector<EwInput> inputs = state.at(consumer).elementwise->inputs;
  for (const EwInput& input : inputs) {
    if (input.mode != OA_EW_LINEAR) continue;
    const std::optional<uint32_t> producer = state.LastWriter(input.slice, consumer);
    if (!producer || rule.producer_program(state.at(*producer)) == nullptr) continue;
    const std::optional<uint32_t> place = Combine(state, rule, *producer, consumer);
    if (place) return place;
  }
  return std::nullopt;
}

void Apply(FusionState& state, const Rule& rule) {
  state.UpdateLevels();
  for (uint32_t i = 0; i < state.size(); ++i) {
    std::optional<uint32_t> at = i;
    while (at && state.alive(*at) && state.at(*at).elementwise) {
      at = CombineWithAProducer(state, rule, *at);
    }
  }
}

}  // namespace

void FuseEpilogues(FusionState& state) { Apply(state, kEpilogueRule); }
void FuseChains(FusionState& state) { Apply(state, kChainRule); }

}  // namespace oa::ir
