// rows.glsl: what the kernels that move rows of routes read and write at a time: one float, or with
// OA_VEC 4 four of them. `columns` then counts vectors and buffers start at multiples of 16 bytes.
#ifndef OA_MOE_ROWS_GLSL_
#define OA_MOE_ROWS_GLSL_

#include "common/base.glsl"

#if OA_VEC == 4
#define OA_UNIT vec4
#define UnitsIn F32x4In
#define UnitsOut F32x4Out
float unit_dot(vec4 a, vec4 b) { return dot(a, b); }
#else
#define OA_UNIT float
#define UnitsIn F32In
#define UnitsOut F32Out
float unit_dot(float a, float b) { return a * b; }
#endif

#endif  // OA_MOE_ROWS_GLSL_
