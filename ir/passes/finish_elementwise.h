// FinishElementwise: the programs of elementwise dispatches and epilogues -> arguments, constants
// and grids of the precompiled kernels that run them.
#ifndef OA_IR_PASSES_FINISH_ELEMENTWISE_H_
#define OA_IR_PASSES_FINISH_ELEMENTWISE_H_

#include "absl/status/status.h"
#include "ir/program.h"
#include "schema/device_profile.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

// Leaves only concrete dispatches. Unimplemented when the pack lacks the elementwise kernels;
// Internal when a kernel's manifest row has fields that are not known here.
absl::Status FinishElementwise(Program& program, const KernelPack& pack,
                               const DeviceProfile& profile);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_FINISH_ELEMENTWISE_H_
