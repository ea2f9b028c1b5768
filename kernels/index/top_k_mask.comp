// top_k_mask: mask[t, e] = 1 when some indices[t, k] == e, else 0; invalid indices match nothing.
// Shapes:   indices [rows, picks], mask [rows, columns].
// Cost:     every element reads the indices of its row, from cache; writes 4 bytes each.
// Numerics: exact.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  I32In indices;
  F32Out mask;
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
    float value = 0.0;
    for (uint k = 0; k < picks; ++k) {
      if (column >= 0 && args.indices.v[row * picks + k] == column) value = 1.0;
    }
    args.mask.v[i] = value;
  }
}
