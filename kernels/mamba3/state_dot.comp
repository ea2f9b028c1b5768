// state_dot: y[c] = sum over a state of x[c] * y[c], here of each chunk's entry state and the
//   gradient of its exit state.
// Shapes:   x, g [rows, elements], y [rows].
// Cost:     reads 8 bytes an element; a row a workgroup.
// Numerics: F32, lanes in a fixed order.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In g;
  F32Out y;
  uint rows;
  uint elements;
};
OA_PUSH(Args);

void main() {
  uint elements = args.elements;
  F32In x = args.x, g = args.g;
  OA_FOR_EACH_ROW(row, args.rows) {
    float sum = 0.0;
    OA_FOR_EACH_COLUMN(i, elements) {
      sum = fma(x.v[row * elements + i], g.v[row * elements + i], sum);
    }
    sum = workgroup_sum(sum);
    if (gl_LocalInvocationID.x == 0u) args.y.v[row] = sum;
  }
}
