// Windows that move over an axis: the attributes and extents that pooling and convolutions share.
// Internal to ir/ops.
#ifndef OA_IR_OPS_WINDOW_H_
#define OA_IR_OPS_WINDOW_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/op.h"

namespace oa::ir {

// The integer attribute `name`; InvalidArgument unless it is from `least` to 2^32-1, which is what
// a kernel argument holds.
inline absl::StatusOr<uint64_t> CountAttribute(const InferContext& ctx, absl::string_view name,
                                               int64_t least) {
  const int64_t value = ctx.attributes().i64(name);
  if (value >= least && value <= int64_t{UINT32_MAX}) return static_cast<uint64_t>(value);
  return ctx.Fail("attribute '", name, "' is ", value, ", must be from ", least, " to 4294967295");
}

// Cells from the first to the last that `size` >= 1 cells touch, `dilation` apart; both are at most
// 2^32-1, so that 64 bits hold it.
inline uint64_t DilatedSize(uint64_t size, uint64_t dilation) { return (size - 1) * dilation + 1; }

// Positions of a window of `window` cells, `stride` apart, on an axis padded on both sides. All
// arguments are at most 2^32-1, `window` excepted. InvalidArgument when the padded axis exceeds
// 2^32-1 cells, which kernels count in 32 bits, or is smaller than the window.
inline absl::StatusOr<uint64_t> WindowPositions(const InferContext& ctx, uint64_t extent,
                                                uint64_t window, uint64_t stride,
                                                uint64_t padding) {
  const uint64_t padded = extent + 2 * padding;
  if (padded > UINT32_MAX) {
    return ctx.Fail("an extent of ", extent, " with a padding of ", padding,
                    " on both sides exceeds 4294967295");
  }
  if (window > padded) {
    return ctx.Fail("a window of ", window, " is larger than the padded extent ", padded);
  }
  return (padded - window) / stride + 1;
}

}  // namespace oa::ir

#endif  // OA_IR_OPS_WINDOW_H_
