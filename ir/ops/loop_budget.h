// The loop limit of CPU devices as a call of its own. New code says what its loops cost where it
// asks for workgroups: LowerContext::RowGroups and StridedGroups. Internal to ir/ops.
#ifndef OA_IR_OPS_LOOP_BUDGET_H_
#define OA_IR_OPS_LOOP_BUDGET_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/lower.h"

namespace oa::ir {

// LowerContext::GroupsInBudget.
absl::StatusOr<uint64_t> GroupsInLoopBudget(const LowerContext& ctx, uint64_t groups,
                                            uint64_t rows, uint64_t iterations, uint64_t once = 0);

}  // namespace oa::ir

#endif  // OA_IR_OPS_LOOP_BUDGET_H_
