// The parts of the shape family that have a file of their own. Internal to ir/ops.
#ifndef OA_IR_OPS_SHAPE_ROWS_H_
#define OA_IR_OPS_SHAPE_ROWS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/lower.h"
#include "ir/op.h"

namespace oa::ir {

// Types whose elements the copying kernels move as 32-bit words.
inline constexpr DTypeSet kWordTypes = Only(DType::F32) | Only(DType::I32) | Only(DType::U32);

std::vector<OpDef> SliceOps();  // slice.cc: slice, slice_backward, concat

// x [a, i, b, j, c] with the axes i and j swapped: y [a, j, b, i, c]; 32-bit words.
struct SwapShape {
  uint64_t a = 1, i = 1, b = 1, j = 1, c = 1;
};
absl::Status EmitSwap(LowerContext& ctx, BufferSlice x, BufferSlice y, const SwapShape& s);

// y[r, dst_offset + j] = x[r, src_offset + j] for j < run, words; x [rows, src_stride].
struct RowCopy {
  BufferSlice x;
  uint64_t src_stride;
  uint64_t src_offset;
  uint64_t dst_offset;
  uint64_t run;
};
// One dispatch for all copies into y [rows, dst_stride], which they fill; rows > 0.
absl::Status EmitCopyRows(LowerContext& ctx, BufferSlice y, uint64_t rows, uint64_t dst_stride,
                          absl::Span<const RowCopy> copies);

}  // namespace oa::ir

#endif  // OA_IR_OPS_SHAPE_ROWS_H_
