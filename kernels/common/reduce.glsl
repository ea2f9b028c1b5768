// reduce.glsl: sums and maxima over the OA_WG invocations of a workgroup; every invocation gets the
// result. Call from uniform control flow only.
//
// The order of additions depends on OA_WG alone, never on the subgroup size, so results are the
// same on every GPU. Two passes over shared memory need three barriers where a binary tree over 256
// needs nine. CPU variants (OA_CPU) are a single subgroup and use subgroup arithmetic instead.
#ifndef OA_COMMON_REDUCE_GLSL_
#define OA_COMMON_REDUCE_GLSL_

#include "common/base.glsl"

#ifdef OA_CPU
#extension GL_KHR_shader_subgroup_arithmetic : require

float workgroup_sum(float x) { return subgroupAdd(x); }
float workgroup_max(float x) { return subgroupMax(x); }
float workgroup_min(float x) { return subgroupMin(x); }
uint workgroup_sum(uint x) { return subgroupAdd(x); }
uint workgroup_min(uint x) { return subgroupMin(x); }
uint workgroup_max(uint x) { return subgroupMax(x); }

#else

// OA_WG values are folded to kOaFold partial results, then those to one.
const uint kOaFold = OA_WG >= 128 ? 16 : 8;
shared uint oa_reduce_values[OA_WG];
shared uint oa_reduce_partials[kOaFold];

#define OA_REDUCE(name, type, to_bits, from_bits, combine)                          \
  type name(type x) {                                                               \
    uint lane = gl_LocalInvocationID.x;                                             \
    oa_reduce_values[lane] = to_bits(x);                                            \
    barrier();                                                                      \
    if (lane < kOaFold) {                                                           \
      type partial = x;                                                             \
      [[unroll]] for (uint j = kOaFold; j < OA_WG; j += kOaFold) {                  \
        partial = combine(partial, from_bits(oa_reduce_values[lane + j]));          \
      }                                                                             \
      oa_reduce_partials[lane] = to_bits(partial);                                  \
    }                                                                               \
    barrier();                                                                      \
    type total = from_bits(oa_reduce_partials[0]);                                  \
    [[unroll]] for (uint j = 1; j < kOaFold; ++j) {                                 \
      total = combine(total, from_bits(oa_reduce_partials[j]));                     \
    }                                                                               \
    return total;                                                                   \
  }

float oa_plus(float a, float b) { return a + b; }
uint oa_plus(uint a, uint b) { return a + b; }

// No barrier is needed after the last read: the next reduction writes the partials only after its
// own first barrier, which every invocation reaches only once it has read them.
OA_REDUCE(workgroup_sum, float, floatBitsToUint, uintBitsToFloat, oa_plus)
OA_REDUCE(workgroup_max, float, floatBitsToUint, uintBitsToFloat, max)
OA_REDUCE(workgroup_min, float, floatBitsToUint, uintBitsToFloat, min)
OA_REDUCE(workgroup_sum, uint, uint, uint, oa_plus)
OA_REDUCE(workgroup_max, uint, uint, uint, max)
OA_REDUCE(workgroup_min, uint, uint, uint, min)

#endif  // OA_CPU

#endif  // OA_COMMON_REDUCE_GLSL_
