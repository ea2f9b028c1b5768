// batch_norm: y = (x - mean[c]) / sqrt(variance[c] + epsilon) * weight[c] + bias[c], then
//   the epilogue.
// Shapes:   x, y [batch, channels, positions], the others [channels].
// Cost:     reads and writes 4 bytes an element; 5 flops.
// Numerics: F32; relative 2e-6 of the terms.
#version 460
#include "common/epilogue.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In mean;
  F32In variance;
  F32In weight;
  F32In bias;
  uint batch;
  uint channels;
  uint positions;
  float epsilon;
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_EPILOGUE_CODE

void main() {
  uint count = oa_mul_saturated(oa_mul_saturated(args.batch, args.channels), args.positions);
  oa_epilogue_prepare();
  OA_FOR_EACH(i, count) {
    uint c = i / args.positions % args.channels;
    float rstd = inversesqrt(args.variance.v[c] + args.epsilon);
    float xhat = (args.x.v[i] - args.mean.v[c]) * rstd;
    oa_epilogue_store(i, xhat * args.weight.v[c] + args.bias.v[c]);
  }
}
