// dropout: y[i] = x[i] * (u_i >= p ? scale : 0), u the units of stream 0 (philox.glsl); scale is
//   1 / (1 - p). The same call on the gradient is the adjoint: equal replay counters and seeds draw
//   equal units.
// Shapes:   x, y [count], replay [1].
// Cost:     reads and writes 4 * count bytes; about 30 integer operations an element.
// Numerics: one rounding.
// Source:   Srivastava et al. 2014.
#version 460
#include "common/base.glsl"
#include "random/philox.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  U32In replay;
  F32Out y;
  uint count;
  uint seed_low;
  uint seed_high;
  float p;
  float scale;
};
OA_PUSH(Args);

void main() {
  F32In x = args.x;
  F32Out y = args.y;
  uint count = args.count, replay = args.replay.v[0];
  uvec2 seed = uvec2(args.seed_low, args.seed_high);
  float p = args.p, scale = args.scale;
  uint blocks = count / 4u + uint(count % 4u != 0u);
  OA_FOR_EACH(b, blocks) {
    // Whole vectors: a kernel may read up to the next multiple of 16 bytes.
    vec4 values = F32x4In(x).v[b];
    vec4 units = random_units(b, replay, seed);
    values *= mix(vec4(0.0), vec4(scale), greaterThanEqual(units, vec4(p)));
    if (count - 4u * b >= 4u) {
      F32x4Out(y).v[b] = values;
    } else {
      [[unroll]] for (uint j = 0; j < 3; ++j) {
        if (j < count - 4u * b) y.v[4u * b + j] = values[j];
      }
    }
  }
}
