// cast: y[i] = x[i] converted to an element type other than F32 (that one is an elementwise copy).
//   float -> I32, U32, U8   truncates toward zero, saturates, NaN becomes 0
//   F32 -> BF16             rounds to nearest even; a NaN stays a quiet NaN
//   BF16 -> integer         through F32, exact
//   integer -> BF16         through F32, so rounded twice above 2^24
//   integer -> integer      saturates
// Shapes:   x, y [count].
// Cost:     reads count * size(source), writes count * size(target) bytes.
// Numerics: exact, apart from integers above 2^24 to BF16.
// Errors:   an invocation owns one 32-bit word of y. The bytes of the last word that are behind the
//           last element are written with the value they had.
// Source:   ops.md 3.5.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  U32Out y;
  uint count;
};
OA_PUSH(Args);

// Numbers of the dtype enumeration.
const uint kF32 = 0, kI32 = 1, kU32 = 2, kU8 = 3, kBf16 = 4;
layout(constant_id = 0) const uint source = 0;
layout(constant_id = 1) const uint target = 1;

uint element_bits(uint dtype) { return dtype == kU8 ? 8 : (dtype == kBf16 ? 16 : 32); }
bool is_floating(uint dtype) { return dtype == kF32 || dtype == kBf16; }

// Element i of x, in the low bits; BF16 becomes the bits of the equal F32.
uint load(U32In x, uint i) {
  switch (source) {
    case kU8: return oa_load_u8(U8In(x), i);
    case kBf16: return floatBitsToUint(oa_load_bf16(Bf16In(x), i));
  }
  return x.v[i];
}

uint bf16_from_float(uint bits) {
  bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  uint rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return nan ? (bits >> 16) | 0x40u : rounded >> 16;
}

// The comparisons are false for NaN, which then is 0.
uint integer_from_float(float f) {
  switch (target) {
    case kI32: return f >= 2147483648.0 ? 0x7fffffffu
                      : (f <= -2147483648.0 ? 0x80000000u
                         : (abs(f) < 2147483648.0 ? uint(int(f)) : 0u));
    case kU32: return f >= 4294967296.0 ? 0xffffffffu : (f > 0.0 ? uint(f) : 0u);
  }
  return f >= 255.0 ? 255u : (f > 0.0 ? uint(f) : 0u);
}

uint integer_from_integer(uint bits) {
  bool negative = source == kI32 && int(bits) < 0;
  switch (target) {
    case kI32: return source == kU32 ? min(bits, 0x7fffffffu) : bits;
    case kU32: return negative ? 0u : bits;
  }
  return negative ? 0u : min(bits, 255u);
}

uint convert(uint bits) {
  if (target == kBf16) {
    if (!is_floating(source)) {
      bits = floatBitsToUint(source == kI32 ? float(int(bits)) : float(bits));
    }
    return bf16_from_float(bits);
  }
  return is_floating(source) ? integer_from_float(uintBitsToFloat(bits))
                             : integer_from_integer(bits);
}

void main() {
  U32In x = args.x;
  U32Out y = args.y;
  uint count = args.count;
  uint width = element_bits(target);
  uint per_word = 32 / width;
  uint words = count / per_word + (count % per_word != 0 ? 1 : 0);
  OA_FOR_EACH(w, words) {
    uint first = w * per_word;
    uint filled = min(per_word, count - first);
    uint word = filled == per_word ? 0 : U32InOut(y).v[w] & (0xffffffffu << (filled * width));
    for (uint k = 0; k < filled; ++k) word |= convert(load(x, first + k)) << (k * width);
    y.v[w] = word;
  }
}
