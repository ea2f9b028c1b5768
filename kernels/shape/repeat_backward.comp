// repeat_backward: dx[n, i] = sum over r of g[n, r, i], r increasing.
// Shapes:   g [rows, repeats, inner], dx [rows, inner].
// Cost:     reads g once, writes dx once.
// Numerics: `repeats` terms in a fixed order: 1e-5 relative.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32Out dx;
  uint rows;
  uint repeats;
  uint inner;
};
OA_PUSH(Args);

void main() {
  uint inner = max(args.inner, 1u), repeats = args.repeats;
  OA_FOR_EACH(i, oa_mul_saturated(args.rows, args.inner)) {
    uint row = i / inner;
    uint at = row * repeats * inner + (i - row * inner);
    float sum = 0.0;
    for (uint r = 0; r < repeats; ++r) sum += args.g.v[at + r * inner];
    args.dx.v[i] = sum;
  }
}
