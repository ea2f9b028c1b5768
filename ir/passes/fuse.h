// Fuse: fewer dispatches and less memory traffic, with the same observable values.
#ifndef OA_IR_PASSES_FUSE_H_
#define OA_IR_PASSES_FUSE_H_

#include <vector>

#include "ir/compile.h"
#include "ir/program.h"
#include "schema/device_profile.h"

namespace oa::ir {

// Applies the rules of fuse_rules.h in their order. One note for each dispatch that is the result
// of fusion, in program order.
std::vector<FusionNote> Fuse(Program& program, const DeviceProfile& profile);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_FUSE_H_
