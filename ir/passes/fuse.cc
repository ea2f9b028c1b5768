#include "ir/passes/fuse.h"

#include "ir/passes/fusion_state.h"

namespace oa::ir {

std::vector<FusionNote> Fuse(Program& program) {
  FusionState state(program);
  // Epilogues after chains: a whole chain then moves into the product at once. A second round
  // catches what the first made possible.
  for (bool changed = true; changed;) {
    changed = FuseChains(state);
    changed |= FuseEpilogues(state);
  }
  FuseSiblings(state);
  FuseRecords(state);
  return state.Finish();
}

}  // namespace oa::ir
