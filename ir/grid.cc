#include "ir/grid.h"

#include <algorithm>

#include "schema/checked_math.h"

namespace oa::ir {
namespace {

constexpr uint32_t kAssumedCores = 8;  // when the profile does not say

uint64_t Cores(const DeviceProfile& profile) {
  return profile.compute_units != 0 ? profile.compute_units : kAssumedCores;
}

}  // namespace

std::optional<uint64_t> GroupsInLoopBudget(const DeviceProfile& profile, uint64_t groups,
                                           uint64_t rows, uint64_t iterations, uint64_t once) {
  if (!profile.is_cpu) return groups;
  if (once > kLoopBudget || iterations > kLoopBudget - once) return std::nullopt;
  const uint64_t rows_per_group = (kLoopBudget - once) / std::max<uint64_t>(iterations, 1);
  return std::max(groups, CeilDiv(rows, rows_per_group));
}

uint64_t InvocationCount(const Kernel& kernel) {
  uint64_t invocations = 1;
  for (uint32_t size : kernel.local_size) invocations *= std::max<uint32_t>(size, 1);
  return invocations;
}

uint64_t StridedGroupCount(const DeviceProfile& profile, const Kernel& kernel, uint64_t items) {
  const uint64_t invocations = InvocationCount(kernel);
  uint64_t groups = CeilDiv(items, invocations);
  if (profile.is_cpu) {
    // Half the budget: the body of such a kernel may be a short loop of the driver's making.
    const uint64_t needed = CeilDiv(items, invocations * (kLoopBudget / 2));
    groups = std::max(std::min(groups, Cores(profile) * 4), needed);
  }
  return std::max<uint64_t>(groups, 1);
}

uint64_t RowGroupCount(const DeviceProfile& profile, uint64_t rows) {
  uint64_t groups = std::min<uint64_t>(rows, profile.max_workgroups_per_axis);
  if (profile.is_cpu) groups = std::min(groups, Cores(profile) * 8);
  return std::max<uint64_t>(groups, 1);
}

std::array<uint32_t, 3> FoldGrid(const DeviceProfile& profile, uint64_t groups) {
  const uint64_t limit = std::max<uint32_t>(profile.max_workgroups_per_axis, 1);
  const uint64_t rows = CeilDiv(std::max<uint64_t>(groups, 1), limit);
  const uint64_t z = std::min(CeilDiv(rows, limit), limit);
  const uint64_t y = std::min(CeilDiv(rows, z), limit);
  // Balanced axes leave fewer idle workgroups than one full axis and a remainder.
  const uint64_t x = std::min(CeilDiv(std::max<uint64_t>(groups, 1), y * z), limit);
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
}

}  // namespace oa::ir
