// EmitPlan: a placed program -> the plan that is stored and replayed.
#ifndef OA_IR_PASSES_EMIT_PLAN_H_
#define OA_IR_PASSES_EMIT_PLAN_H_

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "schema/device_profile.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::ir {

// Expects only concrete dispatches, in stages, over placed buffers. The graph supplies the test
// vectors. Internal when the result does not pass the verifiers that every loaded plan must pass.
absl::StatusOr<Plan> EmitPlan(Program program, const Graph& graph, const KernelPack& pack,
                              const DeviceProfile& profile);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_EMIT_PLAN_H_
