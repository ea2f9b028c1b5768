// math_functions.glsl: the bodies of math.glsl, which includes this file once for float and once
// for vec4 (OA_T; OA_INT and OA_BOOL of the same width). mix(a, b, c) is "c ? b : a".

// e^r - 1 for |r| <= ln(2) / 2.
OA_T oa_exp_tail(OA_T r) {
  OA_T p = OA_T(1.9875691500e-4);
  p = fma(p, r, OA_T(1.3981999507e-3));
  p = fma(p, r, OA_T(8.3334519073e-3));
  p = fma(p, r, OA_T(4.1665795894e-2));
  p = fma(p, r, OA_T(1.6666665459e-1));
  p = fma(p, r, OA_T(5.0000001201e-1));
  return fma(p, r * r, r);
}

// e^x, 1.5 ulp; inf above 88.73, 0 below -87.
OA_T oa_exp(OA_T x) {
  OA_T n = roundEven(clamp(x, -87.0, 88.8) * 1.44269504);
  precise OA_T r = (x - n * kOaLn2High) - n * kOaLn2Low;
  OA_T p = oa_exp_tail(r) + 1.0;
  // Twice p times 2^(n-1), because 2^128 is not a float.
  OA_T y = (p + p) * intBitsToFloat((OA_INT(n) + 126) << 23);
  return mix(y, OA_T(0.0), oa_less(x, -87.0));
}

// e^x - 1 from e = e^x, without the cancellation near 0.
OA_T oa_expm1_from(OA_T x, OA_T e) {
  return mix(e - 1.0, oa_exp_tail(x), oa_less(abs(x), 0.34657359));
}

// ln(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1].
OA_T oa_log_tail(OA_T f) {
  OA_T z = f * f;
  OA_T p = OA_T(7.0376836292e-2);
  p = fma(p, f, OA_T(-1.1514610310e-1));
  p = fma(p, f, OA_T(1.1676998740e-1));
  p = fma(p, f, OA_T(-1.2420140846e-1));
  p = fma(p, f, OA_T(1.4249322787e-1));
  p = fma(p, f, OA_T(-1.6668057665e-1));
  p = fma(p, f, OA_T(2.0000714765e-1));
  p = fma(p, f, OA_T(-2.4999993993e-1));
  p = fma(p, f, OA_T(3.3333331174e-1));
  return fma(OA_T(-0.5), z, f * z * p);
}

// x = 2^e (1 + f) with f in the range of oa_log_tail; x positive and finite.
void oa_log_split(OA_T x, out OA_T e, out OA_T f) {
  OA_INT bits = floatBitsToInt(x);
  OA_INT exponent = (bits - 0x3f3504f3) >> 23;
  e = OA_T(exponent);
  f = intBitsToFloat(bits - (exponent << 23)) - 1.0;
}

// ln x, 1 ulp; -inf at 0, NaN below.
OA_T oa_log(OA_T x) {
  OA_T e, f;
  oa_log_split(x, e, f);
  precise OA_T tail = e * kOaLn2Low + oa_log_tail(f);
  precise OA_T y = e * kOaLn2High + (f + tail);
  y = mix(y, OA_T(-oa_infinity()), oa_equal(x, 0.0));
  y = mix(x + x, y, oa_less(abs(x), oa_infinity()));
  return mix(y, OA_T(oa_nan()), oa_less(x, 0.0));
}

// ln(1 + x) for x in [0, 1], relative error 2e-7 down to 0.
OA_T oa_log1p_unit(OA_T x) {
  OA_BOOL whole = oa_less(x, 0.41421356);
  OA_T f = mix(fma(x, OA_T(0.5), OA_T(-0.5)), x, whole);
  return f + (oa_log_tail(f) + mix(OA_T(kOaLn2), OA_T(0.0), whole));
}

// 1 / sqrt(x) for normal x > 0, 1 ulp: the builtin with one Newton step.
OA_T oa_rsqrt(OA_T x) {
  OA_T y = inversesqrt(x);
  return y * fma(-0.5 * (x * y), y, OA_T(1.5));
}

OA_T oa_sigmoid(OA_T x) { return 1.0 / (1.0 + oa_exp(-x)); }

OA_T oa_silu(OA_T x) { return x / (1.0 + oa_exp(-x)); }

// 1 - s for s = 1 / (1 + e), e = exp(-y): as e s where 1 - s would cancel.
OA_T oa_sigmoid_rest(OA_T e, OA_T s) { return mix(1.0 - s, e * s, oa_less(e, 1.0)); }

// The derivative of silu from e = exp(-x).
OA_T oa_silu_slope(OA_T x, OA_T e) {
  OA_T s = 1.0 / (1.0 + e);
  return s * fma(x, oa_sigmoid_rest(e, s), OA_T(1.0));
}
OA_T oa_silu_derivative(OA_T x) { return oa_silu_slope(x, oa_exp(-x)); }

// max(x, 0) + ln(1 + e^-|x|): accurate relative to the result also where it is about e^x.
OA_T oa_softplus(OA_T x) { return max(x, 0.0) + oa_log1p_unit(oa_exp(-abs(x))); }

// tanh x from e = exp(-2 |x|); a polynomial near 0, where 1 - e would cancel.
OA_T oa_tanh_from(OA_T x, OA_T e) {
  OA_T z = x * x;
  OA_T p = OA_T(-5.70498872745e-3);
  p = fma(p, z, OA_T(2.06390887954e-2));
  p = fma(p, z, OA_T(-5.37397155531e-2));
  p = fma(p, z, OA_T(1.33314422036e-1));
  p = fma(p, z, OA_T(-3.33332819422e-1));
  OA_T small = fma(p * z, x, x);
  OA_T large = (1.0 - e) / (1.0 + e);
  return mix(mix(large, -large, oa_less(x, 0.0)), small, oa_less(abs(x), 0.625));
}
OA_T oa_tanh(OA_T x) { return oa_tanh_from(x, oa_exp(-2.0 * abs(x))); }

// sin(x + shift pi/2). x = quadrant pi/2 + r; for |x| <= 1e5 the first three constants, of eight
// bits each, have exact products with the quadrant. Far outside r is bounded but means nothing.
OA_T oa_sin_shifted(OA_T x, int shift) {
  OA_T n = roundEven(x * 0.636619772);
  precise OA_T r = x - n * 1.5703125;
  r = r - n * 4.825592041015625e-4;
  r = r - n * 1.26659870147705078e-6;
  r = r - n * 9.92093629470503e-10;
  r = clamp(r, -0.8, 0.8);
  OA_T z = r * r;
  OA_T s = fma(OA_T(-1.9515295891e-4), z, OA_T(8.3321608736e-3));
  s = fma(fma(s, z, OA_T(-1.6666654611e-1)), z * r, r);
  OA_T c = fma(OA_T(2.443315711809948e-5), z, OA_T(-1.388731625493765e-3));
  c = fma(fma(c, z, OA_T(4.166664568298827e-2)), z * z, fma(OA_T(-0.5), z, OA_T(1.0)));
  OA_INT quadrant = OA_INT(n) + shift;
  OA_T y = mix(s, c, oa_nonzero(quadrant & 1));
  y = mix(y, -y, oa_nonzero(quadrant & 2));
  return mix(OA_T(oa_nan()), y, oa_less(abs(x), oa_infinity()));
}
OA_T oa_sin(OA_T x) { return oa_sin_shifted(x, 0); }
OA_T oa_cos(OA_T x) { return oa_sin_shifted(x, 1); }

// x^k by squaring, for whole k in [-16, 16]; relative error |k| * 6e-8.
OA_T oa_pow_small(OA_T x, float k) {
  uint n = uint(abs(k));
  OA_T power = OA_T(1.0);
  for (int bit = 0; bit < 5; ++bit) {
    if ((n & 1u) != 0u) power *= x;
    x *= x;
    n >>= 1;
  }
  return k < 0.0 ? 1.0 / power : power;
}

// The upper 12 bits of x's significand: products of two such numbers are exact.
OA_T oa_upper_half(OA_T x) { return intBitsToFloat(floatBitsToInt(x) & int(0xfffff000u)); }

// x^s for x > 0 as exp(s ln x), with the logarithm and its product with s in two floats each, so
// that large exponents cost no accuracy (Dekker 1971).
OA_T oa_pow_positive(OA_T x, OA_T s) {
  OA_T e, f;
  oa_log_split(x, e, f);
  precise OA_T a = e * kOaLn2High;
  precise OA_T b = a + f;
  precise OA_T rest = ((a - b) + f) + (e * kOaLn2Low + oa_log_tail(f));
  precise OA_T high = b + rest;
  precise OA_T low = (b - high) + rest;
  OA_T high1 = oa_upper_half(high), s1 = oa_upper_half(s);
  precise OA_T high2 = high - high1;
  precise OA_T s2 = s - s1;
  precise OA_T y = s * high;
  precise OA_T lost = ((s1 * high1 - y) + s1 * high2 + s2 * high1) + s2 * high2;
  OA_T y_low = mix(OA_T(0.0), lost + s * low, oa_less(abs(y), 100.0));
  return oa_exp(y) * (1.0 + y_low);
}

// x^s as C's pow: 0^0 = 1, NaN only for NaN and for a negative base with a fractional exponent.
OA_T oa_pow(OA_T x, float s) {
  bool whole = s == floor(s);
  if (whole && abs(s) <= 16.0) return s == 0.0 ? OA_T(1.0) : oa_pow_small(x, s);
  bool odd = whole && abs(s) < 16777216.0 && (int(abs(s)) & 1) != 0;
  OA_T y = oa_pow_positive(abs(x), OA_T(s));
  y = mix(y, OA_T(s > 0.0 ? 0.0 : oa_infinity()), oa_equal(x, 0.0));
  y = mix(y, whole ? (odd ? -y : y) : OA_T(oa_nan()), oa_less(x, 0.0));
  y = mix(x + s, y, oa_less(abs(x) + abs(s), oa_infinity()));
  y = mix(y, OA_T(s > 0.0 ? oa_infinity() : 0.0), oa_equal(abs(x), oa_infinity()));
  return mix(y, odd ? -y : y, oa_equal(x, -oa_infinity()));
}

// gelu in its tanh form, 0.5 x (1 + tanh u) = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3).
OA_T oa_gelu_exponent(OA_T x) {
  return -2.0 * kOaGeluScale * fma(kOaGeluCubic * x * x, x, x);
}
OA_T oa_gelu(OA_T x) { return x / (1.0 + oa_exp(oa_gelu_exponent(x))); }

// Both tails of gelu' are flat long before; the bound keeps 0 * inf away.
OA_T oa_gelu_bound(OA_T x) { return clamp(x, -20.0, 20.0); }

// gelu' from e = exp(gelu_exponent(gelu_bound(x))).
OA_T oa_gelu_slope(OA_T x, OA_T e) {
  OA_T s = 1.0 / (1.0 + e);
  OA_T y = oa_gelu_bound(x);
  OA_T slope = 2.0 * kOaGeluScale * fma(3.0 * kOaGeluCubic * y, y, OA_T(1.0));
  return mix(fma(y * s * oa_sigmoid_rest(e, s), slope, s), x, isnan(x));
}
OA_T oa_gelu_derivative(OA_T x) {
  return oa_gelu_slope(x, oa_exp(oa_gelu_exponent(oa_gelu_bound(x))));
}

// mish from w = e^min(x, 20): tanh(softplus(x)) = n / (n + 2), n = w (w + 2). Cancels nowhere.
OA_T oa_mish_from(OA_T x, OA_T w) {
  OA_T n = w * (w + 2.0);
  return x * (n / (n + 2.0));
}
OA_T oa_mish(OA_T x) { return oa_mish_from(x, oa_exp(min(x, 20.0))); }

OA_T oa_mish_slope(OA_T x, OA_T w) {
  OA_T n = w * (w + 2.0);
  OA_T inverse = 1.0 / (n + 2.0);
  OA_T sech2 = 4.0 * (n + 1.0) * inverse * inverse;
  OA_T y = fma(x * (w / (1.0 + w)), sech2, n * inverse);
  return mix(mix(OA_T(1.0), y, oa_less(x, 20.0)), x, isnan(x));
}
OA_T oa_mish_derivative(OA_T x) { return oa_mish_slope(x, oa_exp(min(x, 20.0))); }
