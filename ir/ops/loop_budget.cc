#include "ir/ops/loop_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "schema/checked_math.h"

namespace oa::ir {
namespace {

constexpr uint64_t kBudget = 60000;  // of 65535, because callers estimate

}  // namespace

absl::StatusOr<uint64_t> GroupsInLoopBudget(const LowerContext& ctx, uint64_t groups,
                                            uint64_t rows, uint64_t iterations, uint64_t once) {
  if (!ctx.profile().is_cpu) return groups;
  if (once > kBudget || iterations > kBudget - once) {
    return absl::UnimplementedError(absl::StrCat(
        ctx.node().op->name, ": an invocation would make ", iterations + once,
        " loop iterations, CPU devices are limited to ", kBudget,
        "; use smaller extents or a GPU"));
  }
  const uint64_t rows_per_group = (kBudget - once) / std::max<uint64_t>(iterations, 1);
  return std::max(groups, CeilDiv(rows, rows_per_group));
}

}  // namespace oa::ir
