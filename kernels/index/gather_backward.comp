// gather_backward: dtable[v, :] = sum of g[n, :] over the n with indices[n] == v, in increasing n.
//   A workgroup owns part of a row of dtable. It finds its n by scanning all indices, staged as one
//   bit a position, or (use_lists) in the row's list from index_lists.comp. GPUs sort it first, or
//   scan in place of a list that is too long for that.
// Shapes:   g [count, columns], indices [count], ends U32 [rows], order U32 [count],
//           dtable [rows, columns].
// Cost:     reads 4 * count * columns bytes and writes 4 * rows * columns; besides, the scan reads
//           every index once a workgroup, the lists 8 bytes a row and 4 a position.
// Numerics: F32 sums of at most 32 terms, which are then summed: the error grows with the number of
//           terms / 32. The order is fixed; of fewer than OA_WG columns GPUs sum interleaved parts.
#version 460
#include "index/index.glsl"
#ifdef OA_CPU
#extension GL_KHR_shader_subgroup_arithmetic : require
#else
#extension GL_KHR_memory_scope_semantics : require
#endif

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 1) const uint use_lists = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  U32In indices;
  U32In ends;
  U32In order;
  F32Out dtable;
  uint count;
  uint rows;
  uint columns;
};
OA_PUSH(Args);

const uint kColumns = 4;  // of one invocation
const uint kTerms = 32;   // of one short sum

// What one invocation adds up: columns first, first + OA_WG, ...
uint first_column;
uint terms;
vec4 short_sum;
vec4 total;

F32In g;
U32In indices;
U32In order;
uint count;
uint columns;

bool matches(uint n, uint v) { return n < count && load_index(indices, n) == v; }

void end_short_sum() {
  total += short_sum;
  short_sum = vec4(0.0);
  terms = 0;
}

#ifdef OA_CPU

const uint kLongestList = 0xffffffffu;
const uint width = OA_WG;

void add_position(uint n) {
  uint base = n * columns;
  [[unroll]] for (uint j = 0; j < kColumns; ++j) {
    uint d = oa_add_saturated(first_column, j * OA_WG);
    if (d < columns) short_sum[j] += g.v[base + d];
  }
  if (++terms == kTerms) end_short_sum();
}

void add_bits(uint first, uint bits) {
  while (bits != 0u) {
    add_position(first + findLSB(bits));
    bits &= bits - 1u;
  }
}

void add_by_scan(uint v) {
  uint lane = gl_LocalInvocationID.x;
  for (uint n = 0; n < count; n = oa_advance(n, OA_WG, count)) {
    add_bits(n, subgroupOr(matches(n + lane, v) ? 1u << lane : 0u));
  }
}

void add_item(uint at, uint end) {
  if (at >= end) return;
  uint n = order.v[at];
  if (n < count) add_position(n);
}

// The list is in order. Eight positions a step: CPU devices limit the steps (ir/grid.h).
void add_list(uint begin, uint length) {
  uint end = begin + length;
  for (uint at = begin; at < end; at = oa_advance(at, 8u, end)) {
    add_item(at, end);
    add_item(at + 1u, end);
    add_item(at + 2u, end);
    add_item(at + 3u, end);
    add_item(at + 4u, end);
    add_item(at + 5u, end);
    add_item(at + 6u, end);
    add_item(at + 7u, end);
  }
}

void join_members() {}

#else

const uint kLongestList = OA_WG;
const uint kWords = 96;            // of the bit field: 3072 positions at a time
const uint kAhead = 8;             // rows of g that an invocation has in flight
shared uint words[OA_WG];          // the bit field, or a list as it comes
shared uint staged[kWords * 32];   // positions, ascending
shared float parts[OA_WG];

// Of few columns the workgroup adds several positions at a time: `width` invocations share one, and
// member m takes every (OA_WG / width)-th batch of kAhead positions.
uint width;

void mark(uint j) {
  // A scope wider than the workgroup would need a device feature.
  atomicOr(words[j / 32u], 1u << (j % 32u), gl_ScopeWorkgroup, gl_StorageSemanticsShared,
           gl_SemanticsRelaxed);
}

void add_staged(uint amount) {
  uint member = gl_LocalInvocationID.x / width, step = OA_WG / width * kAhead;
  for (uint i = member * kAhead; i < amount; i += step) {
    [[unroll]] for (uint c = 0; c < kColumns; ++c) {
      uint d = oa_add_saturated(first_column - gl_LocalInvocationID.x % width, c * OA_WG);
      if (d >= columns) break;  // for the whole workgroup
      d = min(oa_add_saturated(first_column, c * OA_WG), columns - 1u);
      float rows[kAhead];
      [[unroll]] for (uint j = 0; j < kAhead; ++j) {
        rows[j] = g.v[min(staged[min(i + j, amount - 1u)], count - 1u) * columns + d];
      }
      [[unroll]] for (uint j = 0; j < kAhead; ++j) {
        short_sum[c] += i + j < amount ? rows[j] : 0.0;
      }
    }
    terms += kAhead;
    if (terms == kTerms) end_short_sum();
  }
}

// From the bit field to positions; how many there are.
uint stage_bits(uint first) {
  uint lane = gl_LocalInvocationID.x, before = 0, all = 0;
  for (uint w = 0; w < kWords; ++w) {
    uint size = bitCount(words[w]);
    before += w < lane ? size : 0u;
    all += size;
  }
  for (uint bits = lane < kWords ? words[lane] : 0u; bits != 0u; bits &= bits - 1u) {
    staged[before++] = first + lane * 32u + findLSB(bits);
  }
  barrier();
  return all;
}

void add_by_scan(uint v) {
  uint lane = gl_LocalInvocationID.x;
  for (uint first = 0; first < count; first = oa_advance(first, kWords * 32u, count)) {
    barrier();  // all are done with the block before
    words[lane] = 0u;
    barrier();
    [[unroll]] for (uint j = lane; j < kWords * 32u; j += OA_WG) {
      if (matches(oa_add_saturated(first, j), v)) mark(j);
    }
    barrier();
    add_staged(stage_bits(first));
  }
}

// Sorts by counting the smaller positions.
void add_list(uint begin, uint length) {
  uint lane = gl_LocalInvocationID.x;
  uint own = lane < length ? order.v[begin + lane] : 0xffffffffu;
  barrier();  // all are done with the list of the row before
  words[lane] = own;
  barrier();
  uint rank = 0;
  for (uint j = 0; j < length; ++j) rank += uint(words[j] < own);
  if (lane < length) staged[rank] = own;
  barrier();
  add_staged(length);
}

// The first member gets the sum over all.
void join_members() {
  if (width == OA_WG) return;  // for the whole workgroup
  uint lane = gl_LocalInvocationID.x;
  barrier();  // all have read the parts of the row before
  parts[lane] = total[0];
  barrier();
  for (uint other = lane + width; other < OA_WG; other += width) total[0] += parts[other];
}

#endif

void add_row(uint v) {
  if (use_lists == 0u) {
    add_by_scan(v);
    return;
  }
  uint begin = v > 0u ? min(args.ends.v[v - 1u], count) : 0u;
  uint end = min(args.ends.v[v], count);
  uint length = end - min(begin, end);
  if (length <= kLongestList) {
    add_list(begin, length);
  } else {
    add_by_scan(v);
  }
}

void main() {
  g = args.g;
  indices = args.indices;
  order = args.order;
  count = args.count;
  columns = args.columns;
  F32Out dtable = args.dtable;
  const uint kTile = OA_WG * kColumns;
  uint tiles = columns / kTile + uint(columns % kTile != 0u);
#ifndef OA_CPU
  for (width = 1u; width < min(columns, OA_WG); width *= 2u) {}
#endif
  uint column = gl_LocalInvocationID.x % width;
  OA_FOR_EACH_ROW(r, oa_mul_saturated(args.rows, tiles)) {
    uint v = r / tiles;
    first_column = (r - v * tiles) * kTile + column;
    terms = 0;
    short_sum = vec4(0.0);
    total = vec4(0.0);
    add_row(v);
    total += short_sum;
    join_members();
    [[unroll]] for (uint j = 0; j < kColumns; ++j) {
      uint d = oa_add_saturated(first_column, j * OA_WG);
      if (d < columns && gl_LocalInvocationID.x < width) dtable.v[v * columns + d] = total[j];
    }
  }
}
