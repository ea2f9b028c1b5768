// moe_routing_bias_update: bias[e] -= gamma * sign(load[e] - target).
// Shapes:   load and bias [experts].
// Cost:     reads 8 and writes 4 bytes an expert.
// Numerics: fp32; the sign of 0 and of a NaN is 0.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In load;
  F32InOut bias;
  uint experts;
  float target;
  float gamma;
};
OA_PUSH(Args);

void main() {
  F32In load = args.load;
  F32InOut bias = args.bias;
  float target = args.target, gamma = args.gamma;
  OA_FOR_EACH(e, args.experts) {
    float excess = load.v[e] - target;
    float direction = excess > 0.0 ? 1.0 : excess < 0.0 ? -1.0 : 0.0;
    bias.v[e] -= gamma * direction;
  }
}
