// column_fusion.glsl: column_load and column_store of columns.glsl through the prologue and the
// epilogue, for kernels with both whose operand and result are [outer, extent, inner]. Include it
// behind OA_PROLOGUE_CODE and OA_EPILOGUE_CODE. Call column_result once, in a loop: each call in
// the source is a copy of the epilogue.
#ifndef OA_REDUCE_COLUMN_FUSION_GLSL_
#define OA_REDUCE_COLUMN_FUSION_GLSL_

// The argument `outer`, or less: operand and result have that many. This is what keeps all loads
// and stores inside their buffers.
uint column_outer(uint outer, uint extent, uint inner) {
  uint most = min(oa_prologue_count, oa_epilogue_count);
  return min(outer, most / max(oa_mul_saturated(extent, inner), 1u));
}

// This lane's four elements of a block. `used` of them exist; the others repeat the first.
uvec4 column_elements(uint base, uint extent, uint inner, uint k, out uint used) {
  uint first = 4u * column_lanes() * k;
  uint left = extent - first;
  uvec4 at;
  used = 0u;
  [[unroll]] for (uint j = 0; j < 4; ++j) {
    uint offset = column_offset(j);
    bool exists = offset < left;
    at[j] = exists || j == 0u ? base + (first + offset) * inner : at[0];
    used += uint(exists);
  }
  return at;
}

// Machines.

// With `store`, which each block needs once, what the prologue has to store is stored.
vec4 column_prologue_load(uint base, uint extent, uint inner, uint k, float absent, bool store) {
  uint used;
  uvec4 at = column_elements(base, extent, inner, k, used);
  vec4 value = vec4(absent);
  if (used > 0u) value = oa_prologue_load(at, used, mode == kRowsVec4, store);
  [[unroll]] for (uint j = 1; j < 4; ++j) {
    if (j >= used) value[j] = absent;
  }
  return value;
}

#define OA_COLUMN_INPUT(k)                                                                \
  if (einputs > k) {                                                                      \
    if (mode == kRowsVec4 && emode##k == OA_EW_LINEAR && etype##k == OA_EW_TYPE_F32) {    \
      r[k] = F32x4In(oa_epilogue_in##k).v[at.x >> 2];                                     \
    } else {                                                                              \
      [[unroll]] for (uint j = 0; j < 4; ++j) r[k][j] = OA_EPILOGUE_INPUT(k, at[j]);      \
    }                                                                                     \
  }

void column_put(F32Out y, uvec4 at, uint used, vec4 value) {
  if (mode == kRowsVec4 && used == 4u) {
    F32x4Out(y).v[at.x >> 2] = value;
    return;
  }
  [[unroll]] for (uint j = 0; j < 4; ++j) {
    if (j < used) y.v[at[j]] = value[j];
  }
}

void column_epilogue_store(uint base, uint extent, uint inner, uint k, vec4 value) {
  uint used;
  uvec4 at = column_elements(base, extent, inner, k, used);
  if (used == 0u) return;
  vec4 r[13];
  r[0] = value;
  OA_COLUMN_INPUT(1) OA_COLUMN_INPUT(2) OA_COLUMN_INPUT(3) OA_COLUMN_INPUT(4)
  OA_EPILOGUE_STEPS
  if (eoutputs > 0) column_put(oa_epilogue_out0, at, used, r[eoreg0]);
  if (eoutputs > 1) column_put(oa_epilogue_out1, at, used, r[eoreg1]);
}

// Without machines, where they would do nothing.

vec4 column_plain_load(uint base, uint extent, uint inner, uint k, float absent) {
  return uintBitsToFloat(column_load(U32In(oa_prologue_in0), base, extent, inner, k,
                                     floatBitsToUint(absent)));
}

void column_plain_store(uint base, uint extent, uint inner, uint k, vec4 value) {
  column_store(oa_epilogue_out0, base, extent, inner, k, value);
}

// Whichever is right.

vec4 column_operand(uint base, uint extent, uint inner, uint k, float absent, bool store) {
  if (oa_prologue_is_trivial()) return column_plain_load(base, extent, inner, k, absent);
  return column_prologue_load(base, extent, inner, k, absent, store);
}

void column_result(uint base, uint extent, uint inner, uint k, vec4 value) {
  if (oa_epilogue_is_trivial()) {
    column_plain_store(base, extent, inner, k, value);
  } else {
    column_epilogue_store(base, extent, inner, k, value);
  }
}

#endif  // OA_REDUCE_COLUMN_FUSION_GLSL_
