// elementwise.glsl: the fused elementwise machine: one opcode, one element type, one index mode at
// a time. Opcodes, modes and types arrive as specialisation constants, so each switch below is
// folded to one case when the pipeline is created.
#ifndef OA_COMMON_ELEMENTWISE_GLSL_
#define OA_COMMON_ELEMENTWISE_GLSL_

#include "common/base.glsl"
#include "common/elementwise_opcodes.h"
#include "common/math.glsl"

float oa_bce(float a, float b) {
  float p = clamp(a, 1e-7, 1.0 - 1e-7);
  return -(b * oa_log(p) + (1.0 - b) * oa_log(1.0 - p));
}

float oa_bce_derivative(float a, float b) {
  float p = clamp(a, 1e-7, 1.0 - 1e-7);
  return (p - b) / (p * (1.0 - p));
}

float oa_smooth_l1(float a, float s) {
  float d = abs(a);
  return d < s ? d * d / (2.0 * s) : d - 0.5 * s;
}

// Result of one instruction: operands a and b, scalar s.
float oa_apply(uint op, float a, float b, float s) {
  switch (op) {
    case OA_EW_COPY: return a;
    case OA_EW_ADD: return a + b;
    case OA_EW_SUB: return a - b;
    case OA_EW_MUL: return a * b;
    case OA_EW_DIV: return a / b;
    case OA_EW_SCALE: return a * s;
    case OA_EW_ADD_SCALAR: return a + s;
    case OA_EW_SUB_SCALAR: return a - s;
    case OA_EW_DIV_SCALAR: return a / s;
    case OA_EW_POW: return oa_pow(a, s);
    case OA_EW_CLAMP_MIN: return a < s ? s : a;  // a NaN stays
    case OA_EW_CLAMP_MAX: return a > s ? s : a;
    case OA_EW_EQUAL: return a == s ? 1.0 : 0.0;
    case OA_EW_GREATER_EQUAL: return a >= s ? 1.0 : 0.0;
    case OA_EW_EQUAL_BITS: return floatBitsToUint(a) == floatBitsToUint(s) ? 1.0 : 0.0;
    case OA_EW_NEG: return -a;
    case OA_EW_ABS: return abs(a);
    case OA_EW_EXP: return oa_exp(a);
    case OA_EW_LOG: return oa_log(a);
    case OA_EW_SQRT: return sqrt(a);
    case OA_EW_SIN: return oa_sin(a);
    case OA_EW_COS: return oa_cos(a);
    case OA_EW_RECIPROCAL: return 1.0 / a;
    case OA_EW_SQUARE: return a * a;
    case OA_EW_RELU: return a > 0.0 ? a : 0.0;
    case OA_EW_LEAKY_RELU: return a > 0.0 ? a : s * a;
    case OA_EW_ELU: return a > 0.0 ? a : s * (oa_exp(a) - 1.0);
    case OA_EW_GELU: return oa_gelu(a);
    case OA_EW_MISH: return oa_mish(a);
    case OA_EW_SIGMOID: return oa_sigmoid(a);
    case OA_EW_SILU: return oa_silu(a);
    case OA_EW_SOFTPLUS: return oa_softplus(a);
    case OA_EW_TANH: return oa_tanh(a);
    case OA_EW_RELU_BWD: return a > 0.0 ? b : 0.0;
    case OA_EW_LEAKY_RELU_BWD: return a > 0.0 ? b : s * b;
    case OA_EW_ELU_BWD: return a > 0.0 ? b : b * s * oa_exp(a);
    case OA_EW_GELU_BWD: return b * oa_gelu_derivative(a);
    case OA_EW_MISH_BWD: return b * oa_mish_derivative(a);
    case OA_EW_SIGMOID_BWD: return b * a * (1.0 - a);
    case OA_EW_SILU_BWD: return b * oa_silu_derivative(a);
    case OA_EW_SOFTPLUS_BWD: return b * oa_sigmoid(a);
    case OA_EW_TANH_BWD: return b * (1.0 - a * a);
    case OA_EW_ABS_BWD: return b * oa_sign(a);
    case OA_EW_SQRT_BWD: return b / (2.0 * a);
    case OA_EW_RECIPROCAL_BWD: return -b * a * a;
    case OA_EW_SIN_BWD: return b * oa_cos(a);
    case OA_EW_COS_BWD: return -b * oa_sin(a);
    case OA_EW_POW_BWD: return s == 0.0 ? 0.0 : b * s * oa_pow(a, s - 1.0);
    case OA_EW_CLAMP_MIN_BWD: return a >= s ? b : 0.0;
    case OA_EW_CLAMP_MAX_BWD: return a <= s ? b : 0.0;
    case OA_EW_SMOOTH_L1: return oa_smooth_l1(a, s);
    case OA_EW_SMOOTH_L1_BWD: return b * (abs(a) < s ? a / s : oa_sign(a));
    case OA_EW_BCE: return oa_bce(a, b);
    case OA_EW_BCE_BWD: return oa_bce_derivative(a, b);
    case OA_EW_BCE_LOGITS: return max(a, 0.0) - a * b + oa_log1p_unit(oa_exp(-abs(a)));
    case OA_EW_BCE_LOGITS_BWD: return oa_sigmoid(a) - b;
    case OA_EW_MASK_NONZERO: return b != 0.0 ? a : 0.0;
    case OA_EW_EQUAL_AB: return a == b ? 1.0 : 0.0;
  }
  return oa_nan();
}

// Element `i` of a buffer with elements of `type`, as a float.
float oa_load(F32In x, uint type, uint i) {
  switch (type) {
    case OA_EW_TYPE_U8: return float(oa_load_u8(U8In(x), i));
    case OA_EW_TYPE_I32: return float(floatBitsToInt(x.v[i]));
    case OA_EW_TYPE_U32: return float(floatBitsToUint(x.v[i]));
    case OA_EW_TYPE_BF16: return oa_load_bf16(Bf16In(x), i);
  }
  return x.v[i];
}

// i / d, exactly, for d >= 1 and inverse = oa_inverse(d). Drivers without a vector division would
// divide lane by lane. The estimate is never above the quotient; after two of them the remainder
// is below 2 d.
float oa_inverse(uint d) { return 0.999999 / float(d); }

uint oa_divide(uint i, uint d, float inverse) {
  uint q = uint(float(i) * inverse);
  uint r = i - q * d;
  uint more = uint(float(r) * inverse);
  r -= more * d;
  return q + more + (r >= d ? 1u : 0u);
}

// How one input finds its element; read once per invocation, before the loop over elements.
struct OaPeriod {
  uint div;
  uint mod;
  uint last;  // largest index allowed: what the plan verifier has been told
  float inverse_div;
  float inverse_mod;
};

OaPeriod oa_period(uint div, uint mod, uint len) {
  div = max(div, 1u);
  mod = max(mod, 1u);
  return OaPeriod(div, mod, max(len, 1u) - 1u, oa_inverse(div), oa_inverse(mod));
}

// Index of an input's element for output element i, in the modes other than strided.
uint oa_index(uint mode, uint i, OaPeriod p) {
  if (mode == OA_EW_LINEAR) return i;
  if (mode == OA_EW_SCALAR) return 0;
  uint q = p.div == 1u ? i : oa_divide(i, p.div, p.inverse_div);
  return min(q - oa_divide(q, p.mod, p.inverse_mod) * p.mod, p.last);
}

#endif  // OA_COMMON_ELEMENTWISE_GLSL_
