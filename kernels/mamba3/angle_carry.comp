// angle_carry: turns the sums of chunks into what each chunk starts from: the sum of all chunks
//   before it, modulo 2 pi, or (backwards) behind it. In place.
// Shapes:   carry [batch * heads, chunks, angles, 2], two floats a sum.
// Cost:     16 bytes a chunk, head and angle; an invocation a head and angle, serial over chunks.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint backwards = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32InOut carry;
  uint rows;
  uint angles;
  uint chunks;
};
OA_PUSH(Args);

void main() {
  uint angles = args.angles, chunks = args.chunks;
  F32InOut carry = args.carry;
  OA_FOR_EACH(i, args.rows * angles) {
    float high = 0.0, low = 0.0;
    for (uint j = 0; j < chunks; ++j) {
      uint c = backwards != 0u ? chunks - 1 - j : j;
      uint at = 2 * ((i / angles * chunks + c) * angles + i % angles);
      float own = carry.v[at], own_low = carry.v[at + 1];
      carry.v[at] = high;
      carry.v[at + 1] = low;
      add_compensated(high, low, own);
      low += own_low;
      if (backwards == 0u) wrap_angle(high, low);
    }
  }
}
