// causal_mask: y[n, q, k] = x[n, q, k] for k <= q, `fill` for the keys behind the query.
// Shapes:   x, y [rows, keys]; rows = n * queries, the query of a row is its remainder.
// Cost:     reads and writes 4 bytes an element.
// Numerics: exact: words are copied.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  U32Out y;
  uint rows;
  uint queries;
  uint keys;
  float fill;
};
OA_PUSH(Args);

void main() {
  uint keys = max(args.keys, 1u), queries = max(args.queries, 1u);
  OA_FOR_EACH(i, oa_mul_saturated(args.rows, args.keys)) {
    uint row = i / keys;
    bool hidden = i - row * keys > row % queries;
    args.y.v[i] = hidden ? floatBitsToUint(args.fill) : args.x.v[i];
  }
}
