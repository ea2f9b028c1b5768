// How many workgroups a dispatch gets. Kernels stride over their grid, so that every grid is right
// (kernels/README.md); these functions choose a fast one. Pure.
#ifndef OA_IR_GRID_H_
#define OA_IR_GRID_H_

#include <array>
#include <cstdint>
#include <optional>

#include "schema/device_profile.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

// Loop iterations an invocation may make on a CPU device. Mesa's llvmpipe counts those of all its
// loops together, the failing tests at their ends included, and one for a loop in a branch that is
// not taken (also for each loop inside another one whose test has just failed); after 65,535 it
// leaves every loop at once: no error, just results that were never written. Less than that,
// because callers estimate.
inline constexpr uint64_t kLoopBudget = 60000;

// Iterations of the loops of a dispatch: `shared` are divided among its workgroups, `once` fall on
// each of them.
struct LoopCost {
  uint64_t shared = 0;
  uint64_t once = 0;
};

// At least `groups` workgroups, and on CPU devices so many that sharing `rows` among them, each
// costing a workgroup `iterations`, and `once` more for every workgroup, stays in the budget.
// Nullopt when one row alone takes too many.
std::optional<uint64_t> GroupsInLoopBudget(const DeviceProfile& profile, uint64_t groups,
                                           uint64_t rows, uint64_t iterations, uint64_t once = 0);

// Invocations of a workgroup.
uint64_t InvocationCount(const Kernel& kernel);

// Workgroups for a kernel whose invocations stride over `items`: one invocation an item on GPUs
// (measured 8% faster than a persistent grid), few and fat workgroups on CPU devices, where a grid
// much larger than the cores costs time of its own. At least 1; may exceed the limit of one axis.
uint64_t StridedGroupCount(const DeviceProfile& profile, const Kernel& kernel, uint64_t items);

// Workgroups for a kernel that works on one row a workgroup. From 1 to the limit of one axis.
uint64_t RowGroupCount(const DeviceProfile& profile, uint64_t rows);

// A grid of at least `groups` workgroups with no axis above the limit; the last axes are 1 where
// possible. Fewer than `groups` only when three axes cannot hold them.
std::array<uint32_t, 3> FoldGrid(const DeviceProfile& profile, uint64_t groups);

}  // namespace oa::ir

#endif  // OA_IR_GRID_H_
