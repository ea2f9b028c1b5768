// index_lists: for each row v of a table the list of positions whose index is v, by counting: three
//   kernels made from this file, run one after the other on cells that start as zeros.
//     OA_COUNT:   cells[v] = number of n with indices[n] == v
//     OA_OFFSETS: cells[v] = sum of cells[0 .. v), one workgroup
//     OA_SCATTER: order[cells[v] ..] = those n, in any order; cells[v] then is the end of v's list,
//                 and cells[v - 1] its begin
// Shapes:   indices [count], cells U32 [rows], order U32 [count].
// Cost:     reads the indices twice and the cells three times.
// Numerics: integers; indices outside [0, rows) are in no list. The order inside a list depends on
//           timing: readers sort it.
#version 460
#include "index/index.glsl"
#ifdef OA_CPU
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
#ifndef OA_OFFSETS
  U32In indices;
#endif
  U32InOut cells;
#ifdef OA_SCATTER
  U32Out order;
#endif
#ifndef OA_OFFSETS
  uint count;
#endif
  uint rows;
};
OA_PUSH(Args);

#ifdef OA_OFFSETS

const uint kItems = 16;  // consecutive cells of one lane

#ifdef OA_CPU
// Sum of x over the lanes in front of this one; `total` over all.
uint exclusive_sum(uint x, out uint total) {
  total = subgroupAdd(x);
  return subgroupExclusiveAdd(x);
}
#else
shared uint sums[2][OA_WG];

uint exclusive_sum(uint x, out uint total) {
  uint lane = gl_LocalInvocationID.x;
  uint from = 0;
  barrier();  // the readers of the call before are done
  sums[0][lane] = x;
  barrier();
  [[unroll]] for (uint step = 1; step < OA_WG; step *= 2) {
    uint sum = sums[from][lane];
    if (lane >= step) sum += sums[from][lane - step];
    sums[1 - from][lane] = sum;
    from = 1 - from;
    barrier();
  }
  total = sums[from][OA_WG - 1];
  return sums[from][lane] - x;
}
#endif

void main() {
  U32InOut cells = args.cells;
  uint rows = args.rows;
  const uint kBlock = OA_WG * kItems;
  uint blocks = rows / kBlock + uint(rows % kBlock != 0u);
  uint carry = 0;
  // The sum runs through all blocks: only the first workgroup works.
  for (uint block = 0; block < blocks && oa_group() == 0u; ++block) {
    uint first = block * kBlock + gl_LocalInvocationID.x * kItems;
    uint own[kItems];
    uint sum = 0;
    [[unroll]] for (uint j = 0; j < kItems; ++j) {
      own[j] = sum;
      if (first + j < rows) sum += cells.v[first + j];
    }
    uint total;
    uint before = carry + exclusive_sum(sum, total);
    [[unroll]] for (uint j = 0; j < kItems; ++j) {
      if (first + j < rows) cells.v[first + j] = before + own[j];
    }
    carry += total;
  }
}

#else

void main() {
  U32In indices = args.indices;
  U32InOut cells = args.cells;
  uint count = args.count, rows = args.rows;
#ifdef OA_SCATTER
  U32Out order = args.order;
#endif
  OA_FOR_EACH(n, count) {
    uint v = load_index(indices, n);
    if (v < rows) {
      uint slot = atomicAdd(cells.v[v], 1u);
#ifdef OA_SCATTER
      if (slot < count) order.v[slot] = n;
#endif
    }
  }
}

#endif
