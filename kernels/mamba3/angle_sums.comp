// angle_sums: one pass of a running sum over the tokens of each sequence and head,
//   forwards of angle_t dt_t, modulo 2 pi, or (backwards) from the end of dtheta_t.
//   mode 0: the sum of each chunk. mode 1: the running sums, inclusive, each chunk from its carry.
// Shapes:   angle [batch, length, angles], dt [batch, length, heads],
//           dtheta, sums [batch * heads, length, angles],
//           carry, chunk_sums [batch * heads, chunks, angles, 2].
// Cost:     reads 8, writes 4 bytes a term; a chunk and angle an invocation.
// Numerics: compensated sums in two floats, rounded to one at the end.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint mode = 0;
layout(constant_id = 1) const uint backwards = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In angle;
  F32In dt;
  F32In dtheta;
  F32In carry;
  F32Out chunk_sums;
  F32Out sums;
  uint batch;
  uint tokens;
  uint heads;
  uint angles;
  uint chunk;
  uint chunks;
};
OA_PUSH(Args);

// Adds the term of token t to the sum.
void add_term(uint bh, uint t, uint k, inout float high, inout float low) {
  if (backwards != 0u) {
    add_compensated(high, low, args.dtheta.v[(bh * args.tokens + t) * args.angles + k]);
    return;
  }
  uint token = bh / args.heads * args.tokens + t;
  float rate = args.angle.v[token * args.angles + k];
  float step = args.dt.v[token * args.heads + bh % args.heads];
  add_product(high, low, rate, step);
  wrap_angle(high, low);
}

void main() {
  uint angles = args.angles, chunks = args.chunks, chunk = args.chunk, length = args.tokens;
  OA_FOR_EACH(i, args.batch * args.heads * chunks * angles) {
    uint k = i % angles, c = i / angles % chunks, bh = i / angles / chunks;
    float high = 0.0, low = 0.0;
    if (mode == 1u && chunks > 1u) {
      high = args.carry.v[2 * i];
      low = args.carry.v[2 * i + 1];
    }
    uint count = min(chunk, length - c * chunk);
    for (uint j = 0; j < count; ++j) {
      uint t = c * chunk + (backwards != 0u ? count - 1 - j : j);
      add_term(bh, t, k, high, low);
      if (mode == 1u) args.sums.v[(bh * length + t) * angles + k] = high + low;
    }
    if (mode == 0u) {
      args.chunk_sums.v[2 * i] = high;
      args.chunk_sums.v[2 * i + 1] = low;
    }
  }
}
