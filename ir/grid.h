// How many workgroups a dispatch gets. Kernels stride over their grid, so that every grid is right
// (kernels/README.md); these functions choose a fast one. Pure.
#ifndef OA_IR_GRID_H_
#define OA_IR_GRID_H_

#include <array>
#include <cstdint>

#include "schema/device_profile.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

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
