// channel_sums: dweight[c] = sum of g * xhat, dbias[c] = sum of g over the other axes,
//   xhat = (x - mean) * rstd. Statistics are per channel (mean and variance; rstd is
//   1 / sqrt(variance + epsilon)) or, with per_position, per (batch, position) (mean, what it lost
//   to rounding, and rstd).
//   Rectified: g counts where y > 0 only.
// Shapes:   x, y, g [batch, channels, positions], dweight, dbias [channels],
//           mean, spread [channels] or [batch, positions], rest [batch, positions].
// Cost:     reads x and g once; 5 flops an element. A workgroup works on one channel.
// Numerics: F32, sums over lanes in a fixed order; relative 1e-5.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint per_position = 0;
layout(constant_id = 1) const uint rectified = 0;
layout(constant_id = 2) const uint want_dweight = 0;
layout(constant_id = 3) const uint want_dbias = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In y;
  F32In g;
  F32In mean;
  F32In rest;
  F32In spread;
  F32Out dweight;
  F32Out dbias;
  uint batch;
  uint channels;
  uint positions;
  float epsilon;
};
OA_PUSH(Args);

void main() {
  uint channels = args.channels, positions = args.positions;
  uint count = oa_mul_saturated(args.batch, positions);
  OA_FOR_EACH_ROW(c, channels) {
    float mean = 0.0, rest = 0.0, rstd = 0.0;
    if (per_position == 0u) {
      mean = args.mean.v[c];
      rstd = inversesqrt(args.spread.v[c] + args.epsilon);
    }
    float products = 0.0, sum = 0.0;
    OA_FOR_EACH_COLUMN(i, count) {
      uint n = i / positions;
      uint at = (n * channels + c) * positions + (i - n * positions);
      float g = args.g.v[at];
      if (rectified != 0u) g = args.y.v[at] > 0.0 ? g : 0.0;
      if (per_position != 0u) {
        mean = args.mean.v[i];
        rest = args.rest.v[i];
        rstd = args.spread.v[i];
      }
      precise float centred = (args.x.v[at] - mean) - rest;
      products += g * (centred * rstd);
      sum += g;
    }
    products = workgroup_sum(products);
    sum = workgroup_sum(sum);
    if (gl_LocalInvocationID.x == 0) {
      if (want_dweight != 0u) args.dweight.v[c] = products;
      if (want_dbias != 0u) args.dbias.v[c] = sum;
    }
  }
}
