// How the kernels that reduce along an axis (kernels/reduce/columns.glsl) divide a value
// [outer, extent, inner] among workgroups and lanes. Pure. Internal to ir/ops.
#ifndef OA_IR_OPS_COLUMN_TILING_H_
#define OA_IR_OPS_COLUMN_TILING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

// A value as [outer, extent, inner] around one of its axes. A column is one (outer, inner) pair.
struct AxisShape {
  uint64_t outer = 1;
  uint64_t extent = 1;
  uint64_t inner = 1;

  uint64_t columns() const { return outer * inner; }
};
AxisShape AroundAxis(absl::Span<const uint64_t> shape, int64_t axis);

// Values of the constants `width` and `mode` of columns.glsl, and what follows from them.
struct ColumnTiling {
  uint32_t width = 1;  // columns of a workgroup
  uint32_t lanes = 1;  // of each column
  uint32_t mode = 0;

  uint64_t tiles(const AxisShape& shape) const;
  // Blocks of four elements each lane has of `extent` elements: iterations of a loop over a column.
  uint64_t blocks(uint64_t extent) const;
};
ColumnTiling ChooseTiling(const Kernel& kernel, const AxisShape& shape);

// Elements of one chunk when the axis is reduced in two steps because its columns alone are too few
// to fill a device, or too long to be summed in one go; the extent when one step is enough.
uint64_t ChooseChunk(const Kernel& kernel, const AxisShape& shape, const ColumnTiling& tiling);

// Constant `blocks` of the softmax kernels: blocks of four elements a lane holds in registers, 1, 2
// or 4, or 0 when a column is too long for that.
uint32_t RegisterBlocks(const AxisShape& shape, const ColumnTiling& tiling);

}  // namespace oa::ir

#endif  // OA_IR_OPS_COLUMN_TILING_H_
