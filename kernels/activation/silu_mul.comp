// silu_mul: y[r, j] = silu(x[r, j]) * x[r, n + j], the gate and the value being halves of one row.
//   OA_BACKWARD: dx[r, j] = g[r, j] * x[r, n + j] * silu'(x[r, j]),
//                dx[r, n + j] = g[r, j] * silu(x[r, j])
// Shapes:   x, dx [rows, 2 n], y, g [rows, n]. With OA_VEC 4 every extent along a row counts
//           vectors of four, and buffers start at multiples of 16 bytes.
// Cost:     forward reads 8 * rows * n and writes 4 * rows * n bytes, backward 12 and 8; OA_VEC 1.
// Numerics: 2e-6 + 2e-6 |y| (common/math.glsl).
#version 460
#include "common/elementwise.glsl"

OA_LOCAL_SIZE(OA_WG);

#if OA_VEC == 4
#define OA_IN F32x4In
#define OA_OUT F32x4Out
#define OA_VALUE vec4
#else
#define OA_IN F32In
#define OA_OUT F32Out
#define OA_VALUE float
#endif

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
#ifdef OA_BACKWARD
  OA_IN g;
  OA_IN x;
  OA_OUT dx;
#else
  OA_IN x;
  OA_OUT y;
#endif
  uint rows;
  uint n;
};
OA_PUSH(Args);

void main() {
  OA_IN x = args.x;
#ifdef OA_BACKWARD
  OA_IN g = args.g;
  OA_OUT dx = args.dx;
#else
  OA_OUT y = args.y;
#endif
  uint n = max(args.n, 1u);
  uint count = args.rows * args.n;
  float inverse = oa_inverse(n);
  OA_FOR_EACH(i, count) {
    uint at = i + oa_divide(i, n, inverse) * n;  // r * 2 n + j
    OA_VALUE gate = x.v[at];
    OA_VALUE value = x.v[at + n];
#ifdef OA_BACKWARD
    OA_VALUE upstream = g.v[i];
    dx.v[at] = upstream * value * oa_silu_derivative(gate);
    dx.v[at + n] = upstream * oa_silu(gate);
#else
    y.v[i] = oa_silu(gate) * value;
#endif
  }
}
