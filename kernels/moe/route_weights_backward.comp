// moe_route_weights_backward: dprobabilities[t, e] = sum of (g[t, k] - D) / s over the k with
//   indices[t, k] == e, where s = sum of the probabilities of all valid k and D = sum of
//   g[t, k] y[t, k] over them; 0 unless s > 0.
// Shapes:   probabilities and dprobabilities [tokens, experts]; g, y, indices I32 [tokens, routes].
// Cost:     reads 20 bytes a route, mostly from cache, for each expert; writes 4 bytes an element.
// Numerics: fp32, k ascending.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In probabilities;
  U32In indices;
  F32In y;
  F32Out dprobabilities;
  uint tokens;
  uint experts;
  uint routes;
};
OA_PUSH(Args);

void main() {
  F32In g = args.g, probabilities = args.probabilities, y = args.y;
  U32In indices = args.indices;
  F32Out dprobabilities = args.dprobabilities;
  uint experts = max(args.experts, 1u), routes = args.routes;
  OA_FOR_EACH(i, oa_mul_saturated(args.tokens, experts)) {
    uint t = i / experts, own = i - t * experts, row = t * experts, slot = t * routes;
    float sum = 0.0, mean = 0.0;
    for (uint k = 0; k < routes; ++k) {
      uint e = indices.v[slot + k];
      float p = probabilities.v[row + min(e, experts - 1u)];
      float term = g.v[slot + k] * y.v[slot + k];
      sum += e < experts ? p : 0.0;
      mean += e < experts ? term : 0.0;
    }
    float total = 0.0;
    for (uint k = 0; k < routes; ++k) {
      float term = g.v[slot + k] - mean;
      total += indices.v[slot + k] == own ? term : 0.0;
    }
    dprobabilities.v[i] = sum > 0.0 ? total / sum : 0.0;
  }
}
