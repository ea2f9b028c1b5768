// route_sum: y[t, :] = sum over k < K of w * x[inverse[t K + k], :], K = routes / tokens; w is
//   gate[t K + k] when weighted, else 1. An inverse outside [0, routes) adds nothing. With weights
//   this is moe_combine, without them moe_gather_backward.
// Shapes:   x [routes, columns], inverse U32 [routes], gate [routes], y [tokens, columns].
// Cost:     reads 4 bytes an element of x and 8 bytes a route, writes 4 bytes an element of y.
// Numerics: fp32, k ascending.
#version 460
#include "moe/rows.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint weighted = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  UnitsIn x;
  U32In inverse;
  F32In gate;
  UnitsOut y;
  uint tokens;
  uint routes;
  uint columns;
};
OA_PUSH(Args);

void main() {
  UnitsIn x = args.x;
  U32In inverse = args.inverse;
  F32In gate = args.gate;
  UnitsOut y = args.y;
  uint tokens = max(args.tokens, 1u), routes = args.routes, columns = max(args.columns, 1u);
  uint per_token = routes / tokens;
  OA_FOR_EACH(i, oa_mul_saturated(tokens, columns)) {
    uint t = i / columns, column = i - t * columns;
    OA_UNIT sum = OA_UNIT(0.0);
    for (uint k = 0; k < per_token; ++k) {
      uint slot = t * per_token + k;
      uint row = inverse.v[slot];
      OA_UNIT term = x.v[min(row, routes - 1u) * columns + column];
      if (weighted != 0u) term *= gate.v[slot];
      if (row < routes) sum += term;
    }
    y.v[i] = sum;
  }
}
