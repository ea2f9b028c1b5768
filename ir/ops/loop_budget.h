// How long the loops of one invocation may run on CPU devices. Internal to ir/ops.
#ifndef OA_IR_OPS_LOOP_BUDGET_H_
#define OA_IR_OPS_LOOP_BUDGET_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/lower.h"

namespace oa::ir {

// Mesa's llvmpipe lets an invocation make 65,535 loop iterations, those of all its loops counted
// together and the failing tests at their ends included. Then it leaves every loop at once: no
// error, just results that were never written.
//
// At least `groups` workgroups, and on a CPU device so many that sharing `rows` among them, each
// costing a workgroup `iterations` in its loops, keeps clear of that; `once` more iterations may
// fall on any one workgroup. Unimplemented when one row alone takes too many. Kernels that only
// stride over items need no such call: StridedGroupCount (ir/grid.h) keeps clear by itself.
absl::StatusOr<uint64_t> GroupsInLoopBudget(const LowerContext& ctx, uint64_t groups,
                                            uint64_t rows, uint64_t iterations, uint64_t once = 0);

}  // namespace oa::ir

#endif  // OA_IR_OPS_LOOP_BUDGET_H_
