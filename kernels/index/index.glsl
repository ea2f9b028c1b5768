// index.glsl: indices of any of the three index types.
#ifndef OA_INDEX_INDEX_GLSL_
#define OA_INDEX_INDEX_GLSL_

#include "common/base.glsl"

layout(constant_id = 0) const uint index_type = 0;
const uint kIndexU8 = 0, kIndexU32 = 1, kIndexI32 = 2;

// Index `n`; negative ones become 0xffffffff, which no table has as a row.
uint load_index(U32In indices, uint n) {
  if (index_type == kIndexU8) return oa_load_u8(U8In(indices), n);
  uint value = indices.v[n];
  return index_type == kIndexI32 && (value >> 31) != 0u ? 0xffffffffu : value;
}

#endif  // OA_INDEX_INDEX_GLSL_
