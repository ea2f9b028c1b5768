#include "ir/ops/loop_budget.h"

namespace oa::ir {

absl::StatusOr<uint64_t> GroupsInLoopBudget(const LowerContext& ctx, uint64_t groups,
                                            uint64_t rows, uint64_t iterations, uint64_t once) {
  return ctx.GroupsInBudget(groups, rows, iterations, once);
}

}  // namespace oa::ir
