// row_dot: y[r] = sum over c of x[r, c] * g[r, c].
// Shapes:   x, g [rows, columns], y [rows].
// Cost:     reads 8 bytes an element; a row a workgroup.
// Numerics: F32, lanes in a fixed order: 1e-5 relative to the largest term * sqrt(columns).
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In g;
  F32Out y;
  uint rows;
  uint columns;
};
OA_PUSH(Args);

void main() {
  uint columns = args.columns;
  F32In x = args.x, g = args.g;
  OA_FOR_EACH_ROW(row, args.rows) {
    uint base = row * columns;
    float sum = 0.0;
    OA_FOR_EACH_COLUMN(c, columns) { sum = fma(x.v[base + c], g.v[base + c], sum); }
    sum = workgroup_sum(sum);
    if (gl_LocalInvocationID.x == 0u) args.y.v[row] = sum;
  }
}
