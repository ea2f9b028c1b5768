// columns.glsl: what all kernels that reduce along an axis share. x is [outer, extent, inner]; a
// column is one (outer, inner) pair, q = o * inner + i, and has `extent` elements `inner` apart.
//
// A workgroup takes `width` neighbouring columns at a time, OA_WG / width lanes each. A lane works
// on blocks of four elements of its column. Which lane gets which element, and the order in which
// results meet, depend on width, mode and extent only: never on the grid or the subgroup size.
// CPU variants are one subgroup of OA_WG invocations without barriers; their width is 1 or OA_WG.
#ifndef OA_REDUCE_COLUMNS_GLSL_
#define OA_REDUCE_COLUMNS_GLSL_

#include "common/base.glsl"
#ifdef OA_CPU
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

layout(constant_id = 0) const uint width = 1;
layout(constant_id = 1) const uint mode = 0;

const uint kStrided = 0;   // inner > 1: neighbouring lanes take neighbouring columns
const uint kRows = 1;      // inner == 1: neighbouring lanes take neighbouring elements
const uint kRowsVec4 = 2;  // the same, four at a time; columns start at multiples of 16 bytes

const uint kNegativeInfinity = 0xff800000u;

uint column_lanes() { return OA_WG / clamp(width, 1u, OA_WG); }

// Which of the workgroup's columns this invocation works on, and as which of its lanes.
uint column_slot() {
  uint local = gl_LocalInvocationID.x;
  return mode == kStrided ? local % max(width, 1u) : local / column_lanes();
}
uint column_lane() {
  uint local = gl_LocalInvocationID.x;
  return mode == kStrided ? local / max(width, 1u) : local % column_lanes();
}

// a / b, rounded up; 0 when b is 0.
uint oa_ceil_div(uint a, uint b) { return b == 0u ? 0u : a / b + uint(a % b != 0u); }

uint column_tiles(uint columns) { return oa_ceil_div(columns, max(width, 1u)); }

// Blocks in which every lane's elements of a column lie.
uint column_blocks(uint extent) { return oa_ceil_div(extent, 4u * column_lanes()); }

// Element number of component j of this lane in block 0; block k lies 4 * lanes * k further on.
uint column_offset(uint j) {
  return mode == kRowsVec4 ? 4u * column_lane() + j : column_lane() + j * column_lanes();
}

// This lane's four elements of block `k` < column_blocks(extent) of the column that starts at
// x[base]; `absent` in place of elements behind the end.
uvec4 column_load(U32In x, uint base, uint extent, uint inner, uint k, uint absent) {
  uint first = 4u * column_lanes() * k;
  uint left = extent - first;
  uvec4 value = uvec4(absent);
  if (mode == kRowsVec4) {
    uint offset = 4u * column_lane();
    if (offset < left) {
      value = U32x4In(x).v[(base + first + offset) >> 2];
      [[unroll]] for (uint j = 1; j < 4; ++j) {
        if (left - offset <= j) value[j] = absent;
      }
    }
    return value;
  }
  [[unroll]] for (uint j = 0; j < 4; ++j) {
    uint offset = column_offset(j);
    if (offset < left) value[j] = x.v[base + (first + offset) * inner];
  }
  return value;
}

// The inverse; elements behind the end are dropped.
void column_store(F32Out y, uint base, uint extent, uint inner, uint k, vec4 value) {
  uint first = 4u * column_lanes() * k;
  uint left = extent - first;
  if (mode == kRowsVec4 && 4u * column_lane() + 3u < left) {
    F32x4Out(y).v[(base + first + 4u * column_lane()) >> 2] = value;
    return;
  }
  [[unroll]] for (uint j = 0; j < 4; ++j) {
    uint offset = column_offset(j);
    if (offset < left) y.v[base + (first + offset) * inner] = value[j];
  }
}

// Where column q starts.
uint column_base(uint q, uint extent, uint inner) {
  uint o = q / max(inner, 1u);
  return o * extent * inner + (q - o * inner);
}

// column_sum, column_max, column_min: over the lanes of each column; every lane gets the result.
// Call from uniform control flow only.
#ifdef OA_CPU

float column_sum(float x) { return width == 1u ? subgroupAdd(x) : x; }
float column_max(float x) { return width == 1u ? subgroupMax(x) : x; }
uint column_max(uint x) { return width == 1u ? subgroupMax(x) : x; }
uint column_min(uint x) { return width == 1u ? subgroupMin(x) : x; }

#else

// The lanes of a column are folded to at most 16, then those to one. The partial results are
// written again only behind the next call's first barrier, when all of them have been read.
shared uint column_values[OA_WG];
shared uint column_partials[OA_WG];

#define OA_COLUMN_REDUCE(name, type, to_bits, from_bits, combine)                                 \
  type name(type x) {                                                                             \
    uint lanes = column_lanes(), lane = column_lane(), slot = column_slot();                      \
    if (lanes == 1u) return x;                                                                    \
    uint fold = min(lanes, 16u);                                                                  \
    column_values[slot * lanes + lane] = to_bits(x);                                              \
    barrier();                                                                                    \
    if (lane < fold) {                                                                            \
      for (uint j = lane + fold; j < lanes; j += fold) {                                          \
        x = combine(x, from_bits(column_values[slot * lanes + j]));                               \
      }                                                                                           \
      column_partials[slot * fold + lane] = to_bits(x);                                           \
    }                                                                                             \
    barrier();                                                                                    \
    type total = from_bits(column_partials[slot * fold]);                                         \
    for (uint j = 1; j < fold; ++j) {                                                             \
      total = combine(total, from_bits(column_partials[slot * fold + j]));                        \
    }                                                                                             \
    return total;                                                                                 \
  }

float oa_plus(float a, float b) { return a + b; }

OA_COLUMN_REDUCE(column_sum, float, floatBitsToUint, uintBitsToFloat, oa_plus)
OA_COLUMN_REDUCE(column_max, float, floatBitsToUint, uintBitsToFloat, max)
OA_COLUMN_REDUCE(column_max, uint, uint, uint, max)
OA_COLUMN_REDUCE(column_min, uint, uint, uint, min)

#endif  // OA_CPU

#endif  // OA_REDUCE_COLUMNS_GLSL_
