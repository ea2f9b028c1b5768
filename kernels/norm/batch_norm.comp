// batch_norm: y = (x - mean[c]) / sqrt(variance[c] + epsilon) * weight[c] + bias[c].
// Shapes:   x, y [batch, channels, positions], the others [channels].
// Cost:     reads and writes 4 bytes an element; 5 flops.
// Numerics: F32; relative 2e-6 of the terms.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In mean;
  F32In variance;
  F32In weight;
  F32In bias;
  F32Out y;
  uint batch;
  uint channels;
  uint positions;
  float epsilon;
};
OA_PUSH(Args);

void main() {
  uint count = oa_mul_saturated(oa_mul_saturated(args.batch, args.channels), args.positions);
  OA_FOR_EACH(i, count) {
    uint c = i / args.positions % args.channels;
    float rstd = inversesqrt(args.variance.v[c] + args.epsilon);
    args.y.v[i] = (args.x.v[i] - args.mean.v[c]) * rstd * args.weight.v[c] + args.bias.v[c];
  }
}
