// channel_statistics: mean[c] = mean of x, variance[c] = mean of (x - mean[c])^2 over batch and
//   positions.
// Shapes:   x [batch, channels, positions], mean, variance [channels].
// Cost:     reads x twice, because the variance of centred values does not cancel; 4 flops an
//           element. A workgroup works on one channel.
// Numerics: F32, sums over lanes in a fixed order; relative 1e-5.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32Out mean;
  F32Out variance;
  uint batch;
  uint channels;
  uint positions;
};
OA_PUSH(Args);

float load(uint i, uint c) {
  uint n = i / args.positions;
  return args.x.v[(n * args.channels + c) * args.positions + (i - n * args.positions)];
}

void main() {
  uint count = oa_mul_saturated(args.batch, args.positions);
  OA_FOR_EACH_ROW(c, args.channels) {
    float mean = 0.0, rest = 0.0, squares = 0.0;
    OA_FOR_EACH_COLUMN(i, count) mean += load(i, c);
    mean = workgroup_sum(mean) / float(count);
    OA_FOR_EACH_COLUMN(i, count) {
      float d = load(i, c) - mean;
      rest += d;
      squares += d * d;
    }
    rest = workgroup_sum(rest) / float(count);  // what the mean lost to rounding
    squares = workgroup_sum(squares);
    if (gl_LocalInvocationID.x == 0) {
      float variance = squares / float(count) - rest * rest;
      args.mean.v[c] = mean + rest;
      args.variance.v[c] = variance < 0.0 ? 0.0 : variance;
    }
  }
}
