// elementwise_apply.glsl: one instruction of the elementwise machine, for elementwise.glsl, which
// includes this file once for float and once for vec4 (OA_T, OA_BOOL).
//
// `op` is a specialisation constant, so all but one row of the table folds away. Opcodes share one
// exponential, one sine and one power, each with the argument the opcode needs: with a copy per
// opcode, creating a pipeline would take several times as long.

// The argument of the exponential, for the opcodes that have one.
OA_T oa_exponent(uint op, OA_T a) {
  switch (op) {
    case OA_EW_SIGMOID:
    case OA_EW_SILU:
    case OA_EW_SILU_BWD:
    case OA_EW_SOFTPLUS_BWD:
    case OA_EW_BCE_LOGITS_BWD: a = -a; break;
    case OA_EW_SOFTPLUS:
    case OA_EW_BCE_LOGITS: a = -abs(a); break;
    case OA_EW_TANH: a = -2.0 * abs(a); break;
    case OA_EW_MISH:
    case OA_EW_MISH_BWD: a = min(a, 20.0); break;
    case OA_EW_GELU: a = oa_gelu_exponent(a); break;
    case OA_EW_GELU_BWD: a = oa_gelu_exponent(oa_gelu_bound(a)); break;
  }
  return a;
}

// p bounded below by 1e-7 and above by 1. The other bound of bce, 1 - 1e-7, is no float: 1 - p is
// bounded by itself instead. NaN stays; min() may drop it.
OA_T oa_bce_bound(OA_T p) {
  return mix(mix(min(p, 1.0), OA_T(1e-7), oa_less(p, 1e-7)), p, isnan(p));
}

OA_T oa_bce(OA_T a, OA_T b) {
  return -(b * oa_log(oa_bce_bound(a)) + (1.0 - b) * oa_log(oa_bce_bound(1.0 - a)));
}

OA_T oa_bce_slope(OA_T a, OA_T b) {
  OA_T p = oa_bce_bound(a), q = oa_bce_bound(1.0 - a);
  return mix((1.0 - b) - q, p - b, oa_less(a, 0.5)) / (p * q);
}

// 1 where the condition holds, 0 elsewhere.
OA_T oa_indicator(OA_BOOL condition) { return mix(OA_T(0.0), OA_T(1.0), condition); }
OA_T oa_keep(OA_T x, OA_BOOL condition) { return mix(OA_T(0.0), x, condition); }

OA_T oa_signum(OA_T x) {
  return oa_indicator(oa_less(OA_T(0.0), x)) - oa_indicator(oa_less(x, OA_T(0.0)));
}

#define OA_CASE(code, value) y = mix(y, OA_T(value), OA_BOOL(op == code));

// Result of one instruction of at most four operations (EwIsCheap in ir/elementwise.h): operands a
// and b, scalar s. All that a prologue can do. `precise`, so that no compiler contracts the product
// of one instruction with the sum of the next: fused programs round as separate ones do.
OA_T oa_apply_cheap(uint op, OA_T a, OA_T b, float s) {
  OA_BOOL positive = oa_less(OA_T(0.0), a);
  OA_BOOL below = oa_less(a, OA_T(s)), above = oa_less(OA_T(s), a);
  precise OA_T y = a;
  OA_CASE(OA_EW_ADD, a + b)
  OA_CASE(OA_EW_SUB, a - b)
  OA_CASE(OA_EW_MUL, a * b)
  OA_CASE(OA_EW_DIV, a / b)
  OA_CASE(OA_EW_SCALE, a * s)
  OA_CASE(OA_EW_ADD_SCALAR, a + s)
  OA_CASE(OA_EW_SUB_SCALAR, a - s)
  OA_CASE(OA_EW_DIV_SCALAR, a / s)
  // Some drivers make a maximum of the comparison, which drops NaN.
  OA_CASE(OA_EW_CLAMP_MIN, mix(mix(a, OA_T(s), below), a, isnan(a)))
  OA_CASE(OA_EW_CLAMP_MAX, mix(mix(a, OA_T(s), above), a, isnan(a)))
  OA_CASE(OA_EW_EQUAL, oa_indicator(oa_equal(a, OA_T(s))))
  OA_CASE(OA_EW_GREATER_EQUAL, oa_indicator(oa_at_least(a, OA_T(s))))
  OA_CASE(OA_EW_EQUAL_BITS, oa_indicator(oa_same_bits(a, OA_T(s))))
  OA_CASE(OA_EW_NEG, -a)
  OA_CASE(OA_EW_ABS, abs(a))
  OA_CASE(OA_EW_SQRT, sqrt(a))
  OA_CASE(OA_EW_RECIPROCAL, 1.0 / a)
  OA_CASE(OA_EW_SQUARE, a * a)
  OA_CASE(OA_EW_RELU, oa_keep(a, positive))
  OA_CASE(OA_EW_LEAKY_RELU, mix(s * a, a, positive))
  OA_CASE(OA_EW_RELU_BWD, oa_keep(b, positive))
  OA_CASE(OA_EW_LEAKY_RELU_BWD, mix(s * b, b, positive))
  OA_CASE(OA_EW_SIGMOID_BWD, b * a * (1.0 - a))
  OA_CASE(OA_EW_TANH_BWD, b * (1.0 - a * a))
  OA_CASE(OA_EW_ABS_BWD, b * oa_signum(a))
  OA_CASE(OA_EW_RECIPROCAL_BWD, -b * a * a)
  OA_CASE(OA_EW_CLAMP_MIN_BWD, oa_keep(b, oa_at_least(a, OA_T(s))))
  OA_CASE(OA_EW_CLAMP_MAX_BWD, oa_keep(b, oa_at_least(OA_T(s), a)))
  OA_CASE(OA_EW_MASK_NONZERO, mix(a, OA_T(0.0), oa_equal(b, OA_T(0.0))))
  OA_CASE(OA_EW_EQUAL_AB, oa_indicator(oa_equal(a, b)))
  return y;
}

// Result of any instruction.
OA_T oa_apply(uint op, OA_T a, OA_T b, float s) {
  OA_T e = oa_exp(oa_exponent(op, a));
  OA_T sigmoid = 1.0 / (1.0 + e);
  OA_T sine = oa_sin_shifted(a, op == OA_EW_COS || op == OA_EW_SIN_BWD ? 1 : 0);
  OA_T power = oa_pow(a, op == OA_EW_POW_BWD ? s - 1.0 : s);
  OA_T log1p = oa_log1p_unit(e);
  OA_BOOL positive = oa_less(OA_T(0.0), a);
  OA_BOOL near = oa_less(abs(a), OA_T(s));
  OA_T y = oa_apply_cheap(op, a, b, s);
  OA_CASE(OA_EW_POW, power)
  OA_CASE(OA_EW_EXP, e)
  OA_CASE(OA_EW_LOG, oa_log(a))
  OA_CASE(OA_EW_SIN, sine)
  OA_CASE(OA_EW_COS, sine)
  OA_CASE(OA_EW_ELU, mix(s * oa_expm1_from(a, e), a, positive))
  OA_CASE(OA_EW_GELU, a / (1.0 + e))
  OA_CASE(OA_EW_MISH, oa_mish_from(a, e))
  OA_CASE(OA_EW_SIGMOID, sigmoid)
  OA_CASE(OA_EW_SILU, a / (1.0 + e))
  OA_CASE(OA_EW_SOFTPLUS, max(a, 0.0) + log1p)
  OA_CASE(OA_EW_TANH, oa_tanh_from(a, e))
  OA_CASE(OA_EW_ELU_BWD, mix(b * s * e, b, positive))
  OA_CASE(OA_EW_GELU_BWD, b * oa_gelu_slope(a, e))
  OA_CASE(OA_EW_MISH_BWD, b * oa_mish_slope(a, e))
  OA_CASE(OA_EW_SILU_BWD, b * oa_silu_slope(a, e))
  OA_CASE(OA_EW_SOFTPLUS_BWD, b * sigmoid)
  OA_CASE(OA_EW_SQRT_BWD, b / (2.0 * a))
  OA_CASE(OA_EW_SIN_BWD, b * sine)
  OA_CASE(OA_EW_COS_BWD, -b * sine)
  OA_CASE(OA_EW_POW_BWD, s == 0.0 ? OA_T(0.0) : b * s * power)
  OA_CASE(OA_EW_SMOOTH_L1, mix(abs(a) - 0.5 * s, a * a / (2.0 * s), near))
  OA_CASE(OA_EW_SMOOTH_L1_BWD, b * mix(oa_signum(a), a / s, near))
  OA_CASE(OA_EW_BCE, oa_bce(a, b))
  OA_CASE(OA_EW_BCE_BWD, oa_bce_slope(a, b))
  OA_CASE(OA_EW_BCE_LOGITS, a * (oa_indicator(positive) - b) + log1p)
  OA_CASE(OA_EW_BCE_LOGITS_BWD, sigmoid - b)
  return y;
}

#undef OA_CASE
