// batch_norm_backward: dx = weight * rstd * (g - (dbias + xhat * dweight) / M) with M = batch *
//   positions, rstd = 1 / sqrt(variance[c] + epsilon), xhat = (x - mean[c]) * rstd; with constants
//   given as statistics (training 0), dx = weight * rstd * g.
// Shapes:   x, g, dx [batch, channels, positions], the others [channels].
// Cost:     reads 8 bytes an element (4 unless training), writes 4; 8 flops.
// Numerics: F32; relative 1e-5.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint training = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In g;
  F32In mean;
  F32In variance;
  F32In weight;
  F32In dweight;
  F32In dbias;
  F32Out dx;
  uint batch;
  uint channels;
  uint positions;
  float epsilon;
};
OA_PUSH(Args);

void main() {
  uint per_channel = oa_mul_saturated(args.batch, args.positions);
  OA_FOR_EACH(i, oa_mul_saturated(per_channel, args.channels)) {
    uint c = i / args.positions % args.channels;
    float rstd = inversesqrt(args.variance.v[c] + args.epsilon);
    float e = args.g.v[i];
    if (training != 0u) {
      float xhat = (args.x.v[i] - args.mean.v[c]) * rstd;
      e -= (args.dbias.v[c] + xhat * args.dweight.v[c]) / float(per_channel);
    }
    args.dx.v[i] = args.weight.v[c] * rstd * e;
  }
}
