// moe_expert_plan: sorts the routes of a batch by expert, stably. Bucket e < experts holds the
//   routes of expert e, bucket `experts` those whose index is no expert; the packed row of a route
//   is the number of routes in front of it in (bucket, slot) order.
// Shapes:   indices I32 [routes], counts [experts], offsets [experts + 1], packed_token,
//           packed_expert, packed_slot and inverse [routes]; all U32. A block is `block`
//           consecutive routes; tables [blocks, experts + 1] hold bucket sizes (from kCount to
//           kScan) or first rows (from kScan to kPlace).
// Cost:     reads each index twice, writes 16 bytes a route; reads three tables, writes two.
// Numerics: integers; the result does not depend on timing. The maps hold 0xffffffff for a route
//           without an expert and for the packed rows behind the last route that has one.
// Design:   counting sort in three phases: count the buckets of each block, scan, place. One block
//           does all of it in one dispatch (kAll). Within a block, OA_WG routes at a time are
//           ranked by one bit a lane and bucket.
#version 460
#include "common/base.glsl"
#extension GL_KHR_memory_scope_semantics : require

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint phase = 0;
const uint kAll = 0, kCount = 1, kScan = 2, kPlace = 3;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In indices;
  U32In table;
  U32Out next_table;
  U32Out counts;
  U32Out offsets;
  U32Out packed_token;
  U32Out packed_expert;
  U32Out packed_slot;
  U32Out inverse;
  uint routes;
  uint routes_per_token;
  uint experts;
  uint block;
  uint blocks;
};
OA_PUSH(Args);

const uint kNone = 0xffffffffu;
const uint kBuckets = 257;                // of at most 256 experts
const uint kWords = (OA_WG + 31) / 32;    // of one bit a lane
const uint kAhead = 4;                    // blocks of the scan in flight

shared uint cursors[kBuckets];            // sizes of buckets, then where their next route goes
shared uint starts[kBuckets];
shared uint marks[kBuckets * kWords];

U32In indices;
uint routes;
uint experts;

// Indices that are no expert, the negative ones among them, share the last bucket.
uint bucket_of(uint n) { return min(indices.v[min(n, routes - 1u)], experts); }

void count_block(uint begin, uint end) {
  oa_workgroup_barrier();  // the cursors of the block before are done with
  OA_FOR_EACH_COLUMN(e, experts + 1u) cursors[e] = 0u;
  oa_workgroup_barrier();
  for (uint base = begin; base < end; base = oa_advance(base, OA_WG, end)) {
    uint n = oa_add_saturated(base, gl_LocalInvocationID.x);
    uint bucket = bucket_of(n);
    // A scope wider than the workgroup would need a device feature.
    if (n < end) {
      atomicAdd(cursors[bucket], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                gl_SemanticsRelaxed);
    }
  }
  oa_workgroup_barrier();
}

// From the sizes of all buckets to their first rows; also the results that need no more.
void start_buckets() {
  U32Out counts = args.counts, offsets = args.offsets;
  OA_FOR_EACH_COLUMN(e, experts + 1u) {
    uint sum = 0;
    for (uint j = 0; j < e; ++j) sum += cursors[j];
    starts[e] = sum;
    offsets.v[e] = sum;
    if (e < experts) counts.v[e] = cursors[e];
  }
  oa_workgroup_barrier();
}

// This lane's number among the lanes of its bucket. The last one moves the cursor on and removes
// the marks, behind the barrier.
uint rank_of(uint bucket, bool present, out uint size) {
  uint lane = gl_LocalInvocationID.x, rank = 0;
  size = 0;
  if (present) {
    atomicOr(marks[bucket * kWords + lane / 32u], 1u << (lane % 32u), gl_ScopeWorkgroup,
             gl_StorageSemanticsShared, gl_SemanticsRelaxed);
  }
  oa_workgroup_barrier();
  [[unroll]] for (uint w = 0; w < kWords; ++w) {
    uint word = marks[bucket * kWords + w];
    uint below = w < lane / 32u ? word : w > lane / 32u ? 0u : word & ((1u << (lane % 32u)) - 1u);
    rank += bitCount(below);
    size += bitCount(word);
  }
  return rank;
}

void place_block(uint begin, uint end) {
  U32Out packed_token = args.packed_token, packed_expert = args.packed_expert;
  U32Out packed_slot = args.packed_slot, inverse = args.inverse;
  uint per_token = max(args.routes_per_token, 1u);
  OA_FOR_EACH_COLUMN(w, (experts + 1u) * kWords) marks[w] = 0u;
  oa_workgroup_barrier();
  for (uint base = begin; base < end; base = oa_advance(base, OA_WG, end)) {
    uint n = oa_add_saturated(base, gl_LocalInvocationID.x);
    uint bucket = bucket_of(n), size;
    uint rank = rank_of(bucket, n < end, size);
    uint row = cursors[bucket] + rank;
    oa_workgroup_barrier();
    if (n < end) {
      bool valid = bucket < experts;
      inverse.v[n] = valid ? row : kNone;
      if (row < routes) {
        packed_token.v[row] = valid ? n / per_token : kNone;
        packed_expert.v[row] = valid ? bucket : kNone;
        packed_slot.v[row] = valid ? n : kNone;
      }
      if (rank + 1u == size) {
        cursors[bucket] = row + 1u;
        [[unroll]] for (uint w = 0; w < kWords; ++w) marks[bucket * kWords + w] = 0u;
      }
    }
    oa_workgroup_barrier();
  }
}

// Sizes of the buckets over all blocks, then for each block the first row of each of its buckets.
void scan_blocks(U32In table, U32Out next_table, uint blocks) {
  uint buckets = experts + 1u;
  OA_FOR_EACH_COLUMN(e, buckets) {
    uint sum = 0;
    for (uint b = 0; b < blocks; ++b) sum += table.v[b * buckets + e];
    cursors[e] = sum;
  }
  oa_workgroup_barrier();
  start_buckets();
  OA_FOR_EACH_COLUMN(e, buckets) {
    uint next = starts[e];
    for (uint b = 0; b < blocks; b += kAhead) {
      uint sizes[kAhead];
      [[unroll]] for (uint j = 0; j < kAhead; ++j) {
        sizes[j] = table.v[min(b + j, blocks - 1u) * buckets + e];
      }
      [[unroll]] for (uint j = 0; j < kAhead; ++j) {
        if (b + j < blocks) next_table.v[(b + j) * buckets + e] = next;
        next += sizes[j];
      }
    }
  }
}

void main() {
  indices = args.indices;
  routes = args.routes;
  experts = min(args.experts, kBuckets - 1u);
  U32In table = args.table;
  U32Out next_table = args.next_table;
  uint block = args.block, blocks = args.blocks, buckets = experts + 1u;
  if (phase == kScan) {
    OA_FOR_EACH_ROW(once, 1u) scan_blocks(table, next_table, blocks);
    return;
  }
  OA_FOR_EACH_ROW(b, phase == kAll ? 1u : blocks) {
    uint begin = phase == kAll ? 0u : min(oa_mul_saturated(b, block), routes);
    uint end = phase == kAll ? routes : begin + min(block, routes - begin);
    if (phase != kPlace) count_block(begin, end);
    if (phase == kCount) {
      OA_FOR_EACH_COLUMN(e, buckets) next_table.v[b * buckets + e] = cursors[e];
      continue;
    }
    if (phase == kAll) start_buckets();
    OA_FOR_EACH_COLUMN(e, buckets) {
      cursors[e] = phase == kAll ? starts[e] : table.v[b * buckets + e];
    }
    oa_workgroup_barrier();
    place_block(begin, end);
  }
}
