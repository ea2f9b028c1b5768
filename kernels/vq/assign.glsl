// assign.glsl: arguments of the vq_assign kernels, and the order in which codes are preferred.
// Include behind OA_LOCAL_SIZE.
//
// A workgroup compares a block of rows with one share of the codes. With one share the codes it
// finds are the result; else vq_best picks among the shares.
#ifndef OA_VQ_ASSIGN_GLSL_
#define OA_VQ_ASSIGN_GLSL_

#include "common/base.glsl"

layout(constant_id = 0) const uint want_keys = 0;  // 1 where there are several shares

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In latent;
  F32In codebook;
  U32Out keys;     // [shares, rows]
  U32Out indices;  // [shares, rows]
  uint rows;
  uint columns;
  uint codes;
  uint shares;
};
OA_PUSH(Args);

// Codes are compared by (key, code), smaller first. Distances are not negative, so their bits are
// ordered like their values. A NaN is preferred to nothing, except that of code 0, where the search
// starts, to everything: no distance is smaller than it.
const uint kWorstKey = 0xffffffffu;

uint distance_key(float distance, uint code) {
  uint bits = floatBitsToUint(distance);
  if (bits > 0x7f800000u) return code == 0u ? 0u : kWorstKey;
  return bits;
}

#endif  // OA_VQ_ASSIGN_GLSL_
