// elementwise.glsl: the fused elementwise machine: one opcode, one element type, one index mode at
// a time. Opcodes, modes and types arrive as specialisation constants, so each switch below is
// folded to one case when the pipeline is created.
#ifndef OA_COMMON_ELEMENTWISE_GLSL_
#define OA_COMMON_ELEMENTWISE_GLSL_

#include "common/base.glsl"
#include "common/elementwise_opcodes.h"
#include "common/math.glsl"

#define OA_T float
#define OA_BOOL bool
#include "common/elementwise_apply.glsl"
#undef OA_T
#undef OA_BOOL

#define OA_T vec4
#define OA_BOOL bvec4
#include "common/elementwise_apply.glsl"
#undef OA_T
#undef OA_BOOL

// Element `i` of a buffer with elements of `type`, as a float.
float oa_load(F32In x, uint type, uint i) {
  switch (type) {
    case OA_EW_TYPE_U8: return float(oa_load_u8(U8In(x), i));
    case OA_EW_TYPE_I32: return float(floatBitsToInt(x.v[i]));
    case OA_EW_TYPE_U32: return float(floatBitsToUint(x.v[i]));
    case OA_EW_TYPE_BF16: return oa_load_bf16(Bf16In(x), i);
  }
  return x.v[i];
}

// i / d, exactly, for d >= 1 and inverse = oa_inverse(d). Drivers without a vector division would
// divide lane by lane. The estimate is never above the quotient; after two of them the remainder
// is below 2 d.
float oa_inverse(uint d) { return 0.999999 / float(d); }

uint oa_divide(uint i, uint d, float inverse) {
  uint q = uint(float(i) * inverse);
  uint r = i - q * d;
  uint more = uint(float(r) * inverse);
  r -= more * d;
  return q + more + (r >= d ? 1u : 0u);
}

// How one input finds its element; read once per invocation, before the loop over elements.
struct OaPeriod {
  uint div;
  uint mod;
  uint last;  // largest index allowed: what the plan verifier has been told
  float inverse_div;
  float inverse_mod;
};

OaPeriod oa_period(uint div, uint mod, uint len) {
  div = max(div, 1u);
  mod = max(mod, 1u);
  return OaPeriod(div, mod, max(len, 1u) - 1u, oa_inverse(div), oa_inverse(mod));
}

// Index of an input's element for output element i, in the modes other than strided.
uint oa_index(uint mode, uint i, OaPeriod p) {
  if (mode == OA_EW_LINEAR) return i;
  if (mode == OA_EW_SCALAR) return 0;
  uint q = p.div == 1u ? i : oa_divide(i, p.div, p.inverse_div);
  return min(q - oa_divide(q, p.mod, p.inverse_mod) * p.mod, p.last);
}

#endif  // OA_COMMON_ELEMENTWISE_GLSL_
