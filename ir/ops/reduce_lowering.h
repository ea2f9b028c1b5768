// Reductions as lowerings use them: dispatch emitters shared by the reduce, loss, optimiser and
// broadcasting rows. Every one sums in an order fixed by the shape and the kernel variant alone, so
// that replays are bit-identical. Internal to ir/ops.
#ifndef OA_IR_OPS_REDUCE_LOWERING_H_
#define OA_IR_OPS_REDUCE_LOWERING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/lower.h"

namespace oa::ir {

// The maximum of no elements is -inf; a NaN wins.
enum class ReduceKind { kSum, kMax };

// out[0] = scale * reduce(in[0 .. n)); F32, n may be 0. One dispatch, two with scratch partials
// when n is large. kMax expects scale 1.
absl::Status EmitReduceAll(LowerContext& ctx, BufferSlice in, uint64_t n, BufferSlice out,
                           ReduceKind kind, float scale);

// out[o, i] = scale * reduce over e of in[o, e, i]; F32, `in` [outer, extent, inner],
// `out` [outer, inner]. Nothing is emitted when `out` is empty. May use scratch and two dispatches.
absl::Status EmitReduceAxis(LowerContext& ctx, BufferSlice in, uint64_t outer, uint64_t extent,
                            uint64_t inner, BufferSlice out, ReduceKind kind, float scale);

// The adjoint of broadcasting: sums `in` of in_shape over the axes along which out_shape was
// broadcast to it (NumPy rules, already validated). Adjacent summed axes are merged; one
// EmitReduceAxis a group, with scratch between. Equal element counts give a plain copy.
absl::Status EmitReduceTo(LowerContext& ctx, BufferSlice in, absl::Span<const uint64_t> in_shape,
                          BufferSlice out, absl::Span<const uint64_t> out_shape);

// y[r] = sum over c of x[r, c] * g[r, c].
absl::Status EmitRowDot(LowerContext& ctx, BufferSlice x, BufferSlice g, uint64_t rows,
                        uint64_t columns, BufferSlice y);

}  // namespace oa::ir

#endif  // OA_IR_OPS_REDUCE_LOWERING_H_
