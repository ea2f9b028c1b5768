// index_lists: for each row v of a table the list of positions whose index is v, by counting.
//   order[ends[v - 1] .. ends[v]) = the n with indices[n] == v, in any order; ends[-1] is 0.
//   A workgroup makes the lists of 1024 rows: it reads all indices twice, to count those of its rows
//   and of the rows below, and to place those of its rows.
// Shapes:   indices [count], ends U32 [rows], order U32 [count].
// Cost:     reads 8 * count bytes a workgroup, writes 4 * (rows + count).
// Numerics: integers; indices outside [0, rows) are in no list. The order inside a list depends on
//           timing: readers sort it.
#version 460
#include "common/reduce.glsl"
#include "index/index.glsl"
#extension GL_KHR_memory_scope_semantics : require

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In indices;
  U32Out ends;
  U32Out order;
  uint count;
  uint rows;
};
OA_PUSH(Args);

const uint kRows = 1024;            // of a workgroup
const uint kShare = kRows / OA_WG;  // of a lane

shared uint cursors[kRows];  // counts, then where the next position goes

uint take(uint row) {
  // A scope wider than the workgroup would need a device feature.
  return atomicAdd(cursors[row], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                   gl_SemanticsRelaxed);
}

// Sum of x over the lanes in front of this one.
#ifdef OA_CPU
uint exclusive_sum(uint x) { return subgroupExclusiveAdd(x); }
#else
shared uint sums[2][OA_WG];

uint exclusive_sum(uint x) {
  uint lane = gl_LocalInvocationID.x;
  uint from = 0;
  sums[0][lane] = x;
  barrier();
  [[unroll]] for (uint step = 1; step < OA_WG; step *= 2) {
    uint sum = sums[from][lane];
    if (lane >= step) sum += sums[from][lane - step];
    from = 1u - from;
    sums[from][lane] = sum;
    barrier();
  }
  return sums[from][lane] - x;
}
#endif

void main() {
  U32In indices = args.indices;
  U32Out ends = args.ends;
  U32Out order = args.order;
  uint count = args.count, rows = args.rows;
  OA_FOR_EACH_ROW(range, rows / kRows + uint(rows % kRows != 0u)) {
    uint first = range * kRows;
    uint size = min(kRows, rows - first);
    oa_workgroup_barrier();  // the cursors of the range before are done with
    OA_FOR_EACH_COLUMN(r, kRows) cursors[r] = 0u;
    oa_workgroup_barrier();
    uint below = 0;
    OA_FOR_EACH_COLUMN(n, count) {
      uint v = load_index(indices, n);
      if (v < first) below++;
      if (v - first < size) take(v - first);  // v - first wraps for the rows below
    }
    below = workgroup_sum(below);
    oa_workgroup_barrier();
    uint own = gl_LocalInvocationID.x * kShare;
    uint sum = 0;
    for (uint j = 0; j < kShare; ++j) sum += cursors[own + j];
    uint next = below + exclusive_sum(sum);
    for (uint j = 0; j < kShare; ++j) {
      uint begin = next;
      next += cursors[own + j];
      cursors[own + j] = begin;
      if (own + j < size) ends.v[first + own + j] = next;
    }
    oa_workgroup_barrier();
    OA_FOR_EACH_COLUMN(n, count) {
      uint v = load_index(indices, n);
      if (v - first < size) {
        uint slot = take(v - first);
        if (slot < count) order.v[slot] = n;
      }
    }
  }
}
