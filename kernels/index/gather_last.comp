// gather_last: y[t, k] = x[t, indices[t, k]], and 0 for an index outside [0, columns).
// Shapes:   x [rows, columns], indices, y [rows, picks].
// Cost:     reads 8 and writes 4 bytes an element of y.
// Numerics: exact: words are copied.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  I32In indices;
  U32Out y;
  uint rows;
  uint columns;
  uint picks;
};
OA_PUSH(Args);

void main() {
  uint columns = args.columns, picks = max(args.picks, 1u);
  OA_FOR_EACH(i, oa_mul_saturated(args.rows, args.picks)) {
    uint index = uint(args.indices.v[i]);  // a negative one is past every extent below 2^31
    bool valid = index < columns && args.indices.v[i] >= 0;
    uint value = 0u;
    if (valid) value = args.x.v[i / picks * columns + index];
    args.y.v[i] = value;
  }
}
