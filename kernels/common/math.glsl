// math.glsl: elementary functions with a known error on every device, for float and vec4.
//
// The shading language allows sin/cos an absolute error of 2^-11, exp 3 + 2|x| ulp, and a tanh that
// overflows; drivers make use of it. These are polynomials (Cephes, S. Moshier, single precision)
// in IEEE additions and products, so that 2e-6 + 2e-6 |y| holds everywhere. NaN arguments give NaN.
// `precise` marks sums that a compiler may not reassociate, because their point is the rounding
// error; it has no effect on fma(), which therefore never appears in one.
// Results and arguments below 2^-126 may count as zero.
#ifndef OA_COMMON_MATH_GLSL_
#define OA_COMMON_MATH_GLSL_

const float kOaLn2High = 0.693359375;  // 10 bits: products with an exponent are exact
const float kOaLn2Low = -2.12194440e-4;
const float kOaLn2 = 0.69314718056;
const float kOaGeluScale = 0.7978846;  // sqrt(2/pi), bits 0x3F4C422A
const float kOaGeluCubic = 0.044715;

float oa_infinity() { return uintBitsToFloat(0x7f800000u); }
float oa_nan() { return uintBitsToFloat(0x7fc00000u); }
float oa_sign(float x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); }

// Comparisons under one name for scalars and vectors.
bool oa_less(float a, float b) { return a < b; }
bvec4 oa_less(vec4 a, vec4 b) { return lessThan(a, b); }
bvec4 oa_less(vec4 a, float b) { return lessThan(a, vec4(b)); }
bool oa_equal(float a, float b) { return a == b; }
bvec4 oa_equal(vec4 a, vec4 b) { return equal(a, b); }
bvec4 oa_equal(vec4 a, float b) { return equal(a, vec4(b)); }
bool oa_at_least(float a, float b) { return a >= b; }
bvec4 oa_at_least(vec4 a, vec4 b) { return greaterThanEqual(a, b); }
bool oa_same_bits(float a, float b) { return floatBitsToUint(a) == floatBitsToUint(b); }
bvec4 oa_same_bits(vec4 a, vec4 b) { return equal(floatBitsToUint(a), floatBitsToUint(b)); }
bool oa_nonzero(int a) { return a != 0; }
bvec4 oa_nonzero(ivec4 a) { return notEqual(a, ivec4(0)); }

#define OA_T float
#define OA_INT int
#define OA_BOOL bool
#include "common/math_functions.glsl"
#undef OA_T
#undef OA_INT
#undef OA_BOOL

#define OA_T vec4
#define OA_INT ivec4
#define OA_BOOL bvec4
#include "common/math_functions.glsl"
#undef OA_T
#undef OA_INT
#undef OA_BOOL

#endif  // OA_COMMON_MATH_GLSL_
