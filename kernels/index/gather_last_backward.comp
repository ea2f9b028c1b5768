// gather_last_backward: dx[t, e] = sum of g[t, k] over the k with indices[t, k] == e, k increasing.
// Shapes:   g, indices [rows, picks], dx [rows, columns].
// Cost:     every element of dx reads the indices of its row, from cache; writes 4 bytes each.
// Numerics: at most `picks` terms, in a fixed order: 1e-5 relative.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  I32In indices;
  F32Out dx;
  uint rows;
  uint columns;
  uint picks;
};
OA_PUSH(Args);

void main() {
  uint columns = max(args.columns, 1u), picks = args.picks;
  OA_FOR_EACH(i, oa_mul_saturated(args.rows, args.columns)) {
    uint row = i / columns;
    int column = int(i - row * columns);
    float sum = 0.0;
    for (uint k = 0; k < picks; ++k) {
      // A column from 2^31 on is negative here, and no valid index names it.
      uint at = row * picks + k;
      if (column >= 0 && args.indices.v[at] == column) sum += args.g.v[at];
    }
    args.dx.v[i] = sum;
  }
}
