// moe_route_weights: y[t, k] = p_k / s, where p_k = probabilities[t, indices[t, k]], 0 for an index
//   outside [0, experts), and s = sum_k p_k; zeros unless s > 0.
// Shapes:   probabilities [tokens, experts], indices I32 [tokens, routes], y [tokens, routes].
// Cost:     reads 16 bytes and writes 4 a route.
// Numerics: fp32, k ascending.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In probabilities;
  U32In indices;
  F32Out y;
  uint tokens;
  uint experts;
  uint routes;
};
OA_PUSH(Args);

void main() {
  F32In probabilities = args.probabilities;
  U32In indices = args.indices;
  F32Out y = args.y;
  uint experts = args.experts, routes = args.routes;
  OA_FOR_EACH(t, args.tokens) {
    uint row = t * experts, slot = t * routes;
    float sum = 0.0;
    for (uint k = 0; k < routes; ++k) {
      uint e = indices.v[slot + k];
      float p = probabilities.v[row + min(e, experts - 1u)];
      sum += e < experts ? p : 0.0;
    }
    for (uint k = 0; k < routes; ++k) {
      uint e = indices.v[slot + k];
      float p = probabilities.v[row + min(e, experts - 1u)];
      y.v[slot + k] = e < experts && sum > 0.0 ? p / sum : 0.0;
    }
  }
}
