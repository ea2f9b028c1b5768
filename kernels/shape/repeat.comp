// repeat: y[n, r, i] = x[n, i] for every r: each slice `repeats` times, one behind the other.
// Shapes:   x [rows, inner], y [rows, repeats, inner]; 32-bit words.
// Cost:     writes 4 bytes an element, reads the same, mostly from cache.
// Numerics: exact.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  U32Out y;
  uint rows;
  uint repeats;
  uint inner;
};
OA_PUSH(Args);

void main() {
  uint inner = max(args.inner, 1u), repeats = max(args.repeats, 1u);
  uint count = oa_mul_saturated(oa_mul_saturated(args.rows, args.repeats), args.inner);
  OA_FOR_EACH(i, count) {
    uint slice = i / inner;
    args.y.v[i] = args.x.v[slice / repeats * inner + (i - slice * inner)];
  }
}
