#include "ir/passes/fuse.h"

#include "ir/passes/fuse_rules.h"

namespace oa::ir {

std::vector<FusionNote> Fuse(Program& program, const DeviceProfile& profile) {
  FusionState state(program);
  FuseEpilogues(state);
  FusePrologues(state);
  FuseChains(state);
  FuseSiblings(state);
  FuseRecords(state, profile);
  return state.Finish();
}

}  // namespace oa::ir
