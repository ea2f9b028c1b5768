// math.glsl: elementary functions with a known error on every device.
//
// The shading language allows sin/cos an absolute error of 2^-11, exp 3 + 2|x| ulp, and a tanh that
// overflows; drivers make use of it. These are polynomials (Cephes, S. Moshier, single precision)
// in IEEE additions and products, so that 2e-6 + 2e-6 |y| holds everywhere. NaN arguments give NaN.
// `precise` marks steps that a compiler may not reassociate: their point is the rounding error.
// Results and arguments below 2^-126 may count as zero.
#ifndef OA_COMMON_MATH_GLSL_
#define OA_COMMON_MATH_GLSL_

const float kOaLn2High = 0.693359375;       // 10 bits: products with an exponent are exact
const float kOaLn2Low = -2.12194440e-4;
const float kOaLn2 = 0.69314718056;

float oa_infinity() { return uintBitsToFloat(0x7f800000u); }
float oa_nan() { return uintBitsToFloat(0x7fc00000u); }

// e^x, 1.5 ulp; inf above 88.73, 0 below -87.
float oa_exp(float x) {
  float n = roundEven(clamp(x, -87.0, 88.8) * 1.44269504);
  precise float r = fma(n, -kOaLn2High, x);
  r = fma(n, -kOaLn2Low, r);
  float p = 1.9875691500e-4;
  p = fma(p, r, 1.3981999507e-3);
  p = fma(p, r, 8.3334519073e-3);
  p = fma(p, r, 4.1665795894e-2);
  p = fma(p, r, 1.6666665459e-1);
  p = fma(p, r, 5.0000001201e-1);
  p = fma(p, r * r, r) + 1.0;
  // Twice p times 2^(n-1), because 2^128 is not a float.
  return x < -87.0 ? 0.0 : (p + p) * intBitsToFloat((int(n) + 126) << 23);
}

// log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1].
float oa_log_tail(float f) {
  float z = f * f;
  float p = 7.0376836292e-2;
  p = fma(p, f, -1.1514610310e-1);
  p = fma(p, f, 1.1676998740e-1);
  p = fma(p, f, -1.2420140846e-1);
  p = fma(p, f, 1.4249322787e-1);
  p = fma(p, f, -1.6668057665e-1);
  p = fma(p, f, 2.0000714765e-1);
  p = fma(p, f, -2.4999993993e-1);
  p = fma(p, f, 3.3333331174e-1);
  return fma(-0.5, z, f * z * p);
}

// x = 2^e (1 + f) with f in the range of oa_log_tail; x positive and finite.
void oa_log_split(float x, out float e, out float f) {
  int bits = floatBitsToInt(x);
  int exponent = (bits - 0x3f3504f3) >> 23;
  e = float(exponent);
  f = intBitsToFloat(bits - (exponent << 23)) - 1.0;
}

// ln x, 1 ulp; -inf at 0, NaN below.
float oa_log(float x) {
  float e, f;
  oa_log_split(x, e, f);
  precise float tail = fma(e, kOaLn2Low, oa_log_tail(f));
  precise float y = fma(e, kOaLn2High, f + tail);
  if (x == 0.0) y = -oa_infinity();
  if (x < 0.0) y = oa_nan();
  return abs(x) < oa_infinity() ? y : x + x;
}

// ln(1 + x) for x in [0, 1], relative error 2e-7 down to 0.
float oa_log1p_unit(float x) {
  bool halve = x > 0.41421356;
  float f = halve ? fma(x, 0.5, -0.5) : x;
  return f + (oa_log_tail(f) + (halve ? kOaLn2 : 0.0));
}

// 1 / sqrt(x) for normal x > 0, 1 ulp: the builtin with one Newton step.
float oa_rsqrt(float x) {
  float y = inversesqrt(x);
  return y * fma(-0.5 * (x * y), y, 1.5);
}

float oa_sigmoid(float x) { return 1.0 / (1.0 + oa_exp(-x)); }

float oa_silu(float x) { return x / (1.0 + oa_exp(-x)); }

// max(x, 0) + ln(1 + e^-|x|): accurate relative to the result also where it is about e^x.
float oa_softplus(float x) { return max(x, 0.0) + oa_log1p_unit(oa_exp(-abs(x))); }

float oa_tanh(float x) {
  float z = x * x;
  float p = -5.70498872745e-3;
  p = fma(p, z, 2.06390887954e-2);
  p = fma(p, z, -5.37397155531e-2);
  p = fma(p, z, 1.33314422036e-1);
  p = fma(p, z, -3.33332819422e-1);
  float small = fma(p * z, x, x);
  float e = oa_exp(-2.0 * abs(x));
  float large = (1.0 - e) / (1.0 + e);
  return abs(x) < 0.625 ? small : (x < 0.0 ? -large : large);
}

// x = quadrant * pi/2 + r; r in [-pi/4, pi/4] for |x| <= 1e5. Without a fused multiply-add the
// error of r grows to 1e-6 there; far outside r is kept bounded and means nothing.
float oa_reduce_angle(float x, out int quadrant) {
  float n = roundEven(x * 0.636619772);
  precise float r = fma(n, -1.5703125, x);
  r = fma(n, -4.8375129699707031e-4, r);
  r = fma(n, -7.5497899548918821e-8, r);
  quadrant = int(n);
  return clamp(r, -0.8, 0.8);
}

float oa_sin_or_cos(float x, int shift) {
  int quadrant;
  float r = oa_reduce_angle(x, quadrant);
  quadrant += shift;
  float z = r * r;
  float s = fma(fma(fma(-1.9515295891e-4, z, 8.3321608736e-3), z, -1.6666654611e-1), z * r, r);
  float c = fma(fma(2.443315711809948e-5, z, -1.388731625493765e-3), z, 4.166664568298827e-2);
  c = fma(c, z * z, fma(-0.5, z, 1.0));
  float y = (quadrant & 1) != 0 ? c : s;
  y = (quadrant & 2) != 0 ? -y : y;
  return abs(x) < oa_infinity() ? y : oa_nan();
}

float oa_sin(float x) { return oa_sin_or_cos(x, 0); }
float oa_cos(float x) { return oa_sin_or_cos(x, 1); }

// x^k by squaring, for whole k in [-16, 16]; relative error |k| * 6e-8.
float oa_pow_small(float x, float k) {
  uint n = uint(abs(k));
  float power = 1.0;
  for (int bit = 0; bit < 5; ++bit) {
    power *= (n & 1u) != 0u ? x : 1.0;
    x *= x;
    n >>= 1;
  }
  return k < 0.0 ? 1.0 / power : power;
}

// |x|^s as exp(s ln|x|), the logarithm in two floats so that a large exponent costs no accuracy.
float oa_pow_general(float x, float s) {
  float e, f;
  oa_log_split(x, e, f);
  precise float a = e * kOaLn2High;
  precise float b = a + f;
  precise float lost = (a - b) + f;
  precise float rest = lost + fma(e, kOaLn2Low, oa_log_tail(f));
  precise float high = b + rest;
  precise float low = (b - high) + rest;
  precise float y = s * high;
  precise float y_low = fma(s, high, -y) + s * low;
  return oa_exp(y) * (1.0 + (abs(y) < 100.0 ? y_low : 0.0));
}

// x^s as C's pow: 0^0 = 1, NaN only for NaN and for a negative base with a fractional exponent.
float oa_pow(float x, float s) {
  bool whole = s == floor(s);
  if (whole && abs(s) <= 16.0) return s == 0.0 ? 1.0 : oa_pow_small(x, s);
  float y = oa_pow_general(abs(x), s);
  if (x == 0.0) y = s > 0.0 ? 0.0 : oa_infinity();
  if (abs(x) == oa_infinity()) y = s > 0.0 ? oa_infinity() : 0.0;
  if (x < 0.0) {
    bool odd = whole && abs(s) < 16777216.0 && (int(abs(s)) & 1) != 0;
    y = whole ? (odd ? -y : y) : oa_nan();
  }
  return isnan(x) || isnan(s) ? x + s : y;
}

// gelu in its tanh form, 0.5 x (1 + tanh u) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3).
const float kOaGeluScale = 0.7978846;  // bits 0x3F4C422A
const float kOaGeluCubic = 0.044715;

float oa_gelu(float x) {
  float u = kOaGeluScale * fma(kOaGeluCubic * x * x, x, x);
  return x / (1.0 + oa_exp(-2.0 * u));
}

float oa_gelu_derivative(float x) {
  float y = clamp(x, -20.0, 20.0);  // both tails are flat long before; keeps 0 * inf away
  float u = kOaGeluScale * fma(kOaGeluCubic * y * y, y, y);
  float s = oa_sigmoid(2.0 * u);
  float slope = 2.0 * kOaGeluScale * fma(3.0 * kOaGeluCubic * y, y, 1.0);
  return isnan(x) ? x : fma(y * s * (1.0 - s), slope, s);
}

// With w = e^x: tanh(softplus(x)) = n / (n + 2), n = w (w + 2). Cancels nowhere.
float oa_mish(float x) {
  float w = oa_exp(min(x, 20.0));
  float n = w * (w + 2.0);
  return x * (n / (n + 2.0));
}

float oa_mish_derivative(float x) {
  float w = oa_exp(min(x, 20.0));
  float n = w * (w + 2.0);
  float inverse = 1.0 / (n + 2.0);
  float sech2 = 4.0 * (n + 1.0) * inverse * inverse;
  float y = fma(x * (w / (1.0 + w)), sech2, n * inverse);
  return x < 20.0 ? y : (isnan(x) ? x : 1.0);
}

float oa_silu_derivative(float x) {
  float s = oa_sigmoid(x);
  return s * fma(x, 1.0 - s, 1.0);
}

float oa_sign(float x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); }

#endif  // OA_COMMON_MATH_GLSL_
