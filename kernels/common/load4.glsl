// load4.glsl: inputs of the elementwise machine, four elements at a time.
#ifndef OA_COMMON_LOAD4_GLSL_
#define OA_COMMON_LOAD4_GLSL_

#extension GL_EXT_buffer_reference_uvec2 : require
#include "common/elementwise.glsl"

// Elements of outputs i .. i + 3 of an input; one load where they are adjacent and aligned.
vec4 oa_load4(F32In x, uint type, uint mode, uint i, OaPeriod p) {
  if (mode == OA_EW_SCALAR) return vec4(oa_load(x, type, 0));
  bool adjacent = type == OA_EW_TYPE_F32 && (i & 3u) == 0u && (uvec2(x).x & 15u) == 0u;
  if (mode == OA_EW_PERIODIC) adjacent = adjacent && p.div == 1u && (p.mod & 3u) == 0u;
  uint first = oa_index(mode, i, p);
  if (adjacent) return F32x4In(x).v[first >> 2];
  return vec4(oa_load(x, type, first), oa_load(x, type, oa_index(mode, i + 1, p)),
              oa_load(x, type, oa_index(mode, i + 2, p)),
              oa_load(x, type, oa_index(mode, i + 3, p)));
}

// The same of any four outputs.
vec4 oa_gather4(F32In x, uint type, uint mode, uvec4 i, OaPeriod p) {
  if (mode == OA_EW_SCALAR) return vec4(oa_load(x, type, 0));
  vec4 value;
  [[unroll]] for (uint j = 0; j < 4; ++j) value[j] = oa_load(x, type, oa_index(mode, i[j], p));
  return value;
}

#endif  // OA_COMMON_LOAD4_GLSL_
