// prologue.glsl: the elementwise machine in front of a row kernel: up to 4 cheap instructions that
// make the kernel's operand of up to 3 inputs, so that a residual, a scale or a mask cost no memory
// traffic of their own. The operand may be stored besides, for others that need it.
//
// A kernel with "prologue": true in its manifest row has OA_PROLOGUE_ARGUMENTS behind its own
// arguments, in front of the epilogue's, and writes OA_PROLOGUE_CODE behind OA_PUSH. After one call
// of oa_prologue_prepare() it reads four elements of its operand with oa_prologue_load, as often as
// it likes, but each of them once with `store`.
//
// Registers: 0..2 are the inputs, 3 + k is instruction k. Inputs are F32 and have the modes
// of the elementwise kernel, except strided. Without instructions, the operand is input 0.
#ifndef OA_COMMON_PROLOGUE_GLSL_
#define OA_COMMON_PROLOGUE_GLSL_

#include "common/elementwise.glsl"

#define OA_PROLOGUE_ARGUMENTS  \
  F32In pin0, pin1, pin2;      \
  F32Out pout1;                \
  uint pcount;                 \
  float ps[4];                 \
  uint pdiv0, pdiv1, pdiv2;    \
  uint pmod0, pmod1, pmod2;    \
  uint plen0, plen1, plen2;

layout(constant_id = 96) const uint pinputs = 0;
layout(constant_id = 97) const uint poutputs = 0;
layout(constant_id = 98) const uint pslots = 0;
layout(constant_id = 99) const uint pmode0 = 0;
layout(constant_id = 100) const uint pmode1 = 0;
layout(constant_id = 101) const uint pmode2 = 0;
layout(constant_id = 102) const uint pcode0 = 0;
layout(constant_id = 103) const uint pcode1 = 0;
layout(constant_id = 104) const uint pcode2 = 0;
layout(constant_id = 105) const uint pcode3 = 0;
layout(constant_id = 106) const uint poreg0 = 0;
layout(constant_id = 107) const uint poreg1 = 0;

#define OA_PROLOGUE_STEP(k)                                                \
  if (k < pslots) {                                                        \
    r[3 + k] = oa_apply_cheap(pcode##k & 0xffu, r[(pcode##k >> 8) & 0xffu],      \
                              r[(pcode##k >> 16) & 0xffu], oa_prologue_s[k]);    \
  }

#define OA_PROLOGUE_INPUT(k)                                                              \
  if (pinputs > k) {                                                                      \
    oa_prologue_p[k] = oa_period(args.pdiv##k, args.pmod##k, args.plen##k);               \
    oa_prologue_in##k = args.pin##k;                                                      \
  }
#define OA_PROLOGUE_SCALAR(k) if (k < pslots) oa_prologue_s[k] = args.ps[k];

// Whether the operand is the first input as it is: a kernel may then read it in its own way.
bool oa_prologue_is_trivial() {
  return pinputs == 1 && pslots == 0 && poutputs == 1 && pmode0 == OA_EW_LINEAR;
}

// Slices start at multiples of 16 bytes, so that no alignment is asked for.
#define OA_PROLOGUE_LOAD(k)                                                               \
  if (pinputs > k) {                                                                      \
    if (adjacent && pmode##k == OA_EW_LINEAR) {                                           \
      r[k] = F32x4In(oa_prologue_in##k).v[at.x >> 2];                                     \
    } else {                                                                              \
      [[unroll]] for (uint j = 0; j < 4; ++j) {                                           \
        r[k][j] = oa_prologue_in##k.v[oa_index(pmode##k, at[j], oa_prologue_p[k])];       \
      }                                                                                   \
    }                                                                                     \
  }

#define OA_PROLOGUE_CODE                                                                  \
  F32In oa_prologue_in0, oa_prologue_in1, oa_prologue_in2;                                \
  F32Out oa_prologue_out1;                                                                \
  uint oa_prologue_count; /* elements that the inputs have */                             \
  OaPeriod oa_prologue_p[3];                                                              \
  float oa_prologue_s[4];                                                                 \
  /* Reads the arguments once; call it before the loads. */                               \
  void oa_prologue_prepare() {                                                            \
    oa_prologue_count = args.pcount;                                                      \
    oa_prologue_out1 = args.pout1;                                                        \
    OA_PROLOGUE_INPUT(0) OA_PROLOGUE_INPUT(1) OA_PROLOGUE_INPUT(2)                        \
    OA_PROLOGUE_SCALAR(0) OA_PROLOGUE_SCALAR(1) OA_PROLOGUE_SCALAR(2) OA_PROLOGUE_SCALAR(3) \
  }                                                                                       \
  /* Elements `at`, all below oa_prologue_count, of which the first `used` are stored. */ \
  /* With `adjacent` these are neighbours and at.x is a multiple of 4. */                 \
  vec4 oa_prologue_load(uvec4 at, uint used, bool adjacent, bool store) {                 \
    vec4 r[7];                                                                            \
    OA_PROLOGUE_LOAD(0) OA_PROLOGUE_LOAD(1) OA_PROLOGUE_LOAD(2)                           \
    OA_PROLOGUE_STEP(0) OA_PROLOGUE_STEP(1) OA_PROLOGUE_STEP(2) OA_PROLOGUE_STEP(3)       \
    if (poutputs > 1 && store) {                                                          \
      [[unroll]] for (uint j = 0; j < 4; ++j) {                                           \
        if (j < used) oa_prologue_out1.v[at[j]] = r[poreg1][j];                           \
      }                                                                                   \
    }                                                                                     \
    return r[poreg0];                                                                     \
  }

#endif  // OA_COMMON_PROLOGUE_GLSL_
