// rope: rotates the pair (x[t, h, i], x[t, h, i + half_dim]) by direction * phi,
//   phi = (t mod period + offset) * theta_base^(-i / half_dim).
// Shapes:   x, y [tokens, heads, 2 * half_dim].
// Cost:     reads and writes 4 bytes an element; a power, a sine and a cosine a pair.
// Numerics: the rounding of phi: 4e-7 * position * max|x| on top of 2e-6.
#version 460
#include "common/base.glsl"
#include "common/math.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32Out y;
  uint tokens;
  uint heads;
  uint half_dim;
  uint period;
  uint offset;
  float theta_base;
  float direction;
};
OA_PUSH(Args);

void main() {
  uint half_dim = max(args.half_dim, 1u), heads = max(args.heads, 1u);
  uint period = max(args.period, 1u);
  uint slices = oa_mul_saturated(args.tokens, args.heads);
  OA_FOR_EACH(n, oa_mul_saturated(slices, args.half_dim)) {
    uint slice = n / half_dim;  // (t, h)
    uint i = n - slice * half_dim;
    uint low = slice * half_dim * 2u + i;
    float position = float(slice / heads % period + args.offset);
    float phi = position * oa_pow(args.theta_base, -(float(i) / float(half_dim)));
    float c = oa_cos(phi), s = args.direction * oa_sin(phi);
    float x_low = args.x.v[low], x_high = args.x.v[low + half_dim];
    args.y.v[low] = x_low * c - x_high * s;
    args.y.v[low + half_dim] = x_low * s + x_high * c;
  }
}
