// index_lists: for each row v of a table the list of positions whose index is v, by counting.
//   order[ends[v - 1] .. ends[v]) = the n with indices[n] == v; ends[-1] is 0. On GPUs in any
//   order, on CPU devices (OA_CPU) increasing. A workgroup makes the lists of 1024 rows: it reads
//   all indices twice, to count those of its rows and of the rows below, and to place those of its
//   rows.
// Shapes:   indices [count], ends U32 [rows], order U32 [count].
// Cost:     reads 8 * count bytes a workgroup, writes 4 * (rows + count).
// Numerics: integers; indices outside [0, rows) are in no list. On GPUs the order inside a list
//           depends on timing: readers sort it.
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
const uint kBatch = 4;              // indices of a lane at a time

shared uint cursors[kRows];  // counts, then where the next position goes

U32In indices;
uint count;

// The row that position n names, or none.
uint row_of(uint n) { return n < count ? load_index(indices, n) : 0xffffffffu; }

uint take(uint row) {
  // A scope wider than the workgroup would need a device feature.
  return atomicAdd(cursors[row], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                   gl_SemanticsRelaxed);
}

#ifdef OA_CPU
shared uint neighbours[OA_WG];

// Sum of x over the lanes in front of this one.
uint exclusive_sum(uint x) { return subgroupExclusiveAdd(x); }

// Where the position of this lane goes, lanes in order; `row` is its row, or kRows for none.
uint place(uint row) {
  uint lane = gl_LocalInvocationID.x;
  neighbours[lane] = row;
  oa_workgroup_barrier();
  uint before = 0, after = 0;
  [[unroll]] for (uint j = 0; j < OA_WG; ++j) {
    bool same = neighbours[j] == row;
    if (same && j < lane) before++;
    if (same && j > lane) after++;
  }
  uint slot = row < kRows ? cursors[row] + before : 0xffffffffu;
  oa_workgroup_barrier();
  if (row < kRows && after == 0u) cursors[row] = slot + 1u;
  oa_workgroup_barrier();
  return slot;
}
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

uint place(uint row) { return row < kRows ? take(row) : 0xffffffffu; }
#endif

void main() {
  indices = args.indices;
  count = args.count;
  U32Out ends = args.ends;
  U32Out order = args.order;
  uint rows = args.rows;
  uint lane = gl_LocalInvocationID.x;
  OA_FOR_EACH_ROW(range, rows / kRows + uint(rows % kRows != 0u)) {
    uint first = range * kRows;
    uint size = min(kRows, rows - first);
    oa_workgroup_barrier();  // the cursors of the range before are done with
    OA_FOR_EACH_COLUMN(r, kRows) cursors[r] = 0u;
    oa_workgroup_barrier();
    uint below = 0;
    for (uint base = 0; base < count; base = oa_advance(base, kBatch * OA_WG, count)) {
      [[unroll]] for (uint k = 0; k < kBatch; ++k) {
        uint v = row_of(oa_add_saturated(base, k * OA_WG + lane));
        if (v < first) below++;
        if (v - first < size) take(v - first);  // v - first wraps for the rows below
      }
    }
    below = workgroup_sum(below);
    oa_workgroup_barrier();
    uint own = lane * kShare;
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
    for (uint base = 0; base < count; base = oa_advance(base, kBatch * OA_WG, count)) {
      [[unroll]] for (uint k = 0; k < kBatch; ++k) {
        uint n = oa_add_saturated(base, k * OA_WG + lane);
        uint row = row_of(n) - first;
        uint slot = place(row < size ? row : kRows);
        if (slot < count) order.v[slot] = n;
      }
    }
  }
}
