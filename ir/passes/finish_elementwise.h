// FinishElementwise: symbolic elementwise programs and epilogues become kernel arguments.
#ifndef OA_IR_PASSES_FINISH_ELEMENTWISE_H_
#define OA_IR_PASSES_FINISH_ELEMENTWISE_H_

#include "absl/status/status.h"
#include "ir/program.h"
#include "schema/device_profile.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

// Afterwards every dispatch is concrete. Unimplemented when no elementwise kernel fits the profile.
absl::Status FinishElementwise(Program& program, const KernelPack& pack,
                               const DeviceProfile& profile);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_FINISH_ELEMENTWISE_H_
