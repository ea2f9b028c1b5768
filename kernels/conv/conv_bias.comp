// conv_bias: dbias[c] = sum over n and all positions of g[n, c, position].
// Shapes:   g [batch, channels, positions], dbias [channels].
// Cost:     reads g once; a workgroup owns a channel.
// Numerics: F32 sums of the invocations, then their sum in a fixed order.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32Out dbias;
  uint batch;
  uint channels;
  uint positions;
};
OA_PUSH(Args);

void main() {
  uint positions = args.positions;
  OA_FOR_EACH_ROW(c, args.channels) {
    float sum = 0.0;
    for (uint n = 0; n < args.batch; ++n) {
      uint base = (n * args.channels + c) * positions;
      float plane_sum = 0.0;
      OA_FOR_EACH_COLUMN(t, positions) plane_sum += args.g.v[base + t];
      sum += plane_sum;
    }
    sum = workgroup_sum(sum);
    if (gl_LocalInvocationID.x == 0) args.dbias.v[c] = sum;
  }
}
