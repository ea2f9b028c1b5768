// The norm family: its rows, and the lowering they share. Internal to ir/ops.
#ifndef OA_IR_OPS_NORM_H_
#define OA_IR_OPS_NORM_H_

#include <vector>

#include "absl/status/status.h"
#include "ir/lower.h"
#include "ir/op.h"

namespace oa::ir {

// Sums per channel of x [batch, channels, positions] (kernels/norm/channel_sums.comp).
struct ChannelSums {
  BufferSlice x, g;
  BufferSlice y;             // of rectified operators; else empty
  BufferSlice mean, spread;  // per channel: the variance; per position: rstd
  BufferSlice rest;          // per position: what the mean lost to rounding
  bool per_position = false;
  uint64_t batch = 1, channels = 1, positions = 1;
  BufferSlice dweight, dbias;  // either may be empty: not wanted
};
absl::Status EmitChannelSums(LowerContext& ctx, const ChannelSums& sums);

std::vector<OpDef> BatchNormOps();  // batch_norm.cc: its part of NormOps (families.h)

}  // namespace oa::ir

#endif  // OA_IR_OPS_NORM_H_
