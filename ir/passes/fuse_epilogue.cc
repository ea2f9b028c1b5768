// epilogue: C = A B, y = f(C, ...) become one dispatch that applies f before it stores.
#include "ir/passes/fusion_state.h"

namespace oa::ir {
namespace {

// Invocations of a product read operands that belong to other invocations' results.
bool WritesOperands(const Dispatch& product, const EwProgram& epilogue) {
  for (const Argument& argument : product.arguments) {
    if (argument.kind != ArgumentKind::kBuffer) continue;
    for (const EwOutput& output : epilogue.outputs) {
      if (SlicesOverlap(argument.slice, output.slice)) return true;
    }
  }
  return false;
}

bool Merge(FusionState& state, uint32_t product, uint32_t consumer) {
  const Dispatch& first = state.at(product);
  const Dispatch& second = state.at(consumer);
  if (!first.epilogue) return false;
  std::vector<bool> keep;
  for (const EwOutput& output : first.epilogue->outputs) {
    keep.push_back(state.NeededBeyond(product, consumer, output.slice));
  }
  std::optional<EwProgram> merged = ConcatPrograms(*first.epilogue, *second.elementwise, keep,
                                                   /*accumulator=*/true, kEpilogueLimits);
  if (!merged || WritesOperands(first, *merged)) return false;
  const std::optional<uint32_t> place = state.MeetingPlace(product, consumer);
  if (!place) return false;
  Dispatch dispatch = first;
  dispatch.epilogue = std::move(merged);
  state.Replace(product, consumer, *place, std::move(dispatch), "epilogue");
  return true;
}

}  // namespace

bool FuseEpilogues(FusionState& state) {
  bool changed = false;
  for (uint32_t d = 0; d < state.size(); ++d) {
    if (!state.alive(d) || !state.at(d).elementwise) continue;
    const EwProgram program = *state.at(d).elementwise;
    for (const EwInput& input : program.inputs) {
      const std::optional<uint32_t> writer = state.WriterBefore(d, input.slice);
      if (!writer || !Merge(state, *writer, d)) continue;
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace oa::ir
