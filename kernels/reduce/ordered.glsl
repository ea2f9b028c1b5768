// ordered.glsl: F32 values as unsigned keys of the same order, so that maxima are exact, do not
// depend on a driver's treatment of NaN, and let a NaN win.
#ifndef OA_REDUCE_ORDERED_GLSL_
#define OA_REDUCE_ORDERED_GLSL_

// Strictly increasing from -inf (0x007fffff) over -0, +0 to +inf; every NaN is 0xffffffff.
uint oa_ordered(uint bits) {
  uint key = bits ^ ((bits >> 31) != 0u ? 0xffffffffu : 0x80000000u);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0xffffffffu : key;
}

uvec4 oa_ordered(uvec4 bits) {
  return uvec4(oa_ordered(bits.x), oa_ordered(bits.y), oa_ordered(bits.z), oa_ordered(bits.w));
}

float oa_from_ordered(uint key) {
  return uintBitsToFloat(key ^ ((key >> 31) != 0u ? 0x80000000u : 0xffffffffu));
}

#endif  // OA_REDUCE_ORDERED_GLSL_
