// ordered_sum: y[h] = start[h] + x[first, h] + x[first + 1, h] + .., one serial sum by rising row:
//   the contract promises this order for the gradient of dt_bias.
// Shapes:   x [rows, heads], start, y [heads]; rows first .. first + count - 1 are added.
// Cost:     reads 4 bytes a term, 16 rows ahead; a head an invocation.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint has_start = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In start;
  F32Out y;
  uint rows;
  uint heads;
  uint first;
  uint count;
};
OA_PUSH(Args);

void main() {
  const uint kAhead = 16;
  uint heads = args.heads, first = args.first, last = args.rows - 1;
  uint end = min(args.rows, first + args.count);
  F32In x = args.x;
  OA_FOR_EACH(h, heads) {
    float sum = has_start != 0u ? args.start.v[h] : 0.0;
    for (uint row = first; row < end; row += kAhead) {
      float next[kAhead];
      [[unroll]] for (uint j = 0; j < kAhead; ++j) next[j] = x.v[min(row + j, last) * heads + h];
      [[unroll]] for (uint j = 0; j < kAhead; ++j) sum = row + j < end ? sum + next[j] : sum;
    }
    args.y.v[h] = sum;
  }
}
