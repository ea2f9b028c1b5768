// epilogue.glsl: the elementwise machine behind a product: a program of up to 8 instructions
// applied to each result before it is stored, so that bias, activation, residual and the like cost
// no memory traffic of their own.
//
// A kernel with "epilogue": true in its manifest row ends its argument block with
// OA_EPILOGUE_ARGUMENTS and, behind OA_PUSH, writes OA_EPILOGUE_CODE once. After one call of
// oa_epilogue_prepare() it stores its result at linear index i of the output with
// oa_epilogue_store(i, value) or, four at a time, oa_epilogue_store4. Each call in the source is a
// copy of the whole machine: call one of them, once, from a loop.
//
// Registers: 0 is the result, 1..4 are inputs 1..4, 5 + k is instruction k. Inputs have the modes
// and types of the elementwise kernel, except strided. Without instructions, register 0 is stored.
#ifndef OA_COMMON_EPILOGUE_GLSL_
#define OA_COMMON_EPILOGUE_GLSL_

#extension GL_EXT_buffer_reference_uvec2 : require
#include "common/elementwise.glsl"

#define OA_EPILOGUE_ARGUMENTS         \
  F32In ein1, ein2, ein3, ein4;       \
  F32Out eout0, eout1;                \
  uint ecount;                        \
  float es[8];                        \
  uint ediv1, ediv2, ediv3, ediv4;    \
  uint emod1, emod2, emod3, emod4;    \
  uint elen1, elen2, elen3, elen4;

layout(constant_id = 64) const uint einputs = 0;
layout(constant_id = 65) const uint eoutputs = 0;
layout(constant_id = 66) const uint eslots = 0;
layout(constant_id = 67) const uint emode1 = 0;
layout(constant_id = 68) const uint emode2 = 0;
layout(constant_id = 69) const uint emode3 = 0;
layout(constant_id = 70) const uint emode4 = 0;
layout(constant_id = 71) const uint etype1 = 0;
layout(constant_id = 72) const uint etype2 = 0;
layout(constant_id = 73) const uint etype3 = 0;
layout(constant_id = 74) const uint etype4 = 0;
layout(constant_id = 75) const uint ecode0 = 0;
layout(constant_id = 76) const uint ecode1 = 0;
layout(constant_id = 77) const uint ecode2 = 0;
layout(constant_id = 78) const uint ecode3 = 0;
layout(constant_id = 79) const uint ecode4 = 0;
layout(constant_id = 80) const uint ecode5 = 0;
layout(constant_id = 81) const uint ecode6 = 0;
layout(constant_id = 82) const uint ecode7 = 0;
layout(constant_id = 83) const uint eoreg0 = 0;
layout(constant_id = 84) const uint eoreg1 = 0;

// True when the program only stores the result: a kernel may then store it in its own way.
bool oa_epilogue_is_trivial() { return eslots == 0 && eoutputs == 1 && eoreg0 == 0; }

bool oa_aligned16(F32Out y) { return (uvec2(y).x & 15u) == 0u; }

#define OA_EPILOGUE_STEP(k)                                                \
  if (k < eslots) {                                                        \
    r[5 + k] = oa_apply(ecode##k & 0xffu, r[(ecode##k >> 8) & 0xffu],      \
                        r[(ecode##k >> 16) & 0xffu], oa_epilogue_s[k]);    \
  }
#define OA_EPILOGUE_STEPS                                                  \
  OA_EPILOGUE_STEP(0) OA_EPILOGUE_STEP(1) OA_EPILOGUE_STEP(2)              \
  OA_EPILOGUE_STEP(3) OA_EPILOGUE_STEP(4) OA_EPILOGUE_STEP(5)              \
  OA_EPILOGUE_STEP(6) OA_EPILOGUE_STEP(7)

#define OA_EPILOGUE_SCALAR(k) if (k < eslots) oa_epilogue_s[k] = args.es[k];
#define OA_EPILOGUE_PERIOD(k) \
  if (einputs > k) oa_epilogue_p[k] = oa_period(args.ediv##k, args.emod##k, args.elen##k);

#define OA_EPILOGUE_INPUT(k, i) \
  oa_load(oa_epilogue_in##k, etype##k, oa_index(emode##k, i, oa_epilogue_p[k]))
#define OA_EPILOGUE_INPUT4(k, i) \
  oa_load4(oa_epilogue_in##k, etype##k, emode##k, i, oa_epilogue_p[k])

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

// Results outside the declared count are dropped: that is what keeps stores inside the outputs.
#define OA_EPILOGUE_CODE                                          \
  F32In oa_epilogue_in1, oa_epilogue_in2;                         \
  F32In oa_epilogue_in3, oa_epilogue_in4;                         \
  F32Out oa_epilogue_out0, oa_epilogue_out1;                      \
  uint oa_epilogue_count;                                         \
  OaPeriod oa_epilogue_p[5];                                      \
  float oa_epilogue_s[8];                                         \
  /* Reads the arguments once; call it before the stores. */      \
  void oa_epilogue_prepare() {                                    \
    oa_epilogue_count = args.ecount;                              \
    oa_epilogue_in1 = args.ein1;                                  \
    oa_epilogue_in2 = args.ein2;                                  \
    oa_epilogue_in3 = args.ein3;                                  \
    oa_epilogue_in4 = args.ein4;                                  \
    oa_epilogue_out0 = args.eout0;                                \
    oa_epilogue_out1 = args.eout1;                                \
    OA_EPILOGUE_PERIOD(1)                                         \
    OA_EPILOGUE_PERIOD(2)                                         \
    OA_EPILOGUE_PERIOD(3)                                         \
    OA_EPILOGUE_PERIOD(4)                                         \
    OA_EPILOGUE_SCALAR(0) OA_EPILOGUE_SCALAR(1) OA_EPILOGUE_SCALAR(2) OA_EPILOGUE_SCALAR(3) \
    OA_EPILOGUE_SCALAR(4) OA_EPILOGUE_SCALAR(5) OA_EPILOGUE_SCALAR(6) OA_EPILOGUE_SCALAR(7) \
  }                                                               \
  void oa_epilogue_store(uint i, float value) {                   \
    if (i < oa_epilogue_count) {                                  \
      float r[13];                                                \
      r[0] = value;                                               \
      if (einputs > 1) r[1] = OA_EPILOGUE_INPUT(1, i);            \
      if (einputs > 2) r[2] = OA_EPILOGUE_INPUT(2, i);            \
      if (einputs > 3) r[3] = OA_EPILOGUE_INPUT(3, i);            \
      if (einputs > 4) r[4] = OA_EPILOGUE_INPUT(4, i);            \
      OA_EPILOGUE_STEPS                                           \
      if (eoutputs > 0) oa_epilogue_out0.v[i] = r[eoreg0];        \
      if (eoutputs > 1) oa_epilogue_out1.v[i] = r[eoreg1];        \
    }                                                             \
  }                                                               \
  void oa_epilogue_put4(F32Out y, uint i, vec4 value) {           \
    if ((i & 3u) == 0u && oa_aligned16(y)) {                      \
      F32x4Out(y).v[i >> 2] = value;                              \
    } else {                                                      \
      y.v[i] = value.x;                                           \
      y.v[i + 1] = value.y;                                       \
      y.v[i + 2] = value.z;                                       \
      y.v[i + 3] = value.w;                                       \
    }                                                             \
  }                                                               \
  /* Four neighbours: indices i .. i + 3. */                      \
  void oa_epilogue_store4(uint i, vec4 value) {                   \
    if (i < oa_epilogue_count && oa_epilogue_count - i >= 4u) {   \
      vec4 r[13];                                                 \
      r[0] = value;                                               \
      if (einputs > 1) r[1] = OA_EPILOGUE_INPUT4(1, i);           \
      if (einputs > 2) r[2] = OA_EPILOGUE_INPUT4(2, i);           \
      if (einputs > 3) r[3] = OA_EPILOGUE_INPUT4(3, i);           \
      if (einputs > 4) r[4] = OA_EPILOGUE_INPUT4(4, i);           \
      OA_EPILOGUE_STEPS                                           \
      if (eoutputs > 0) oa_epilogue_put4(oa_epilogue_out0, i, r[eoreg0]); \
      if (eoutputs > 1) oa_epilogue_put4(oa_epilogue_out1, i, r[eoreg1]); \
    }                                                             \
  }

#endif  // OA_COMMON_EPILOGUE_GLSL_
