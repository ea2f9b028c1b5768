// multi_tensor.glsl: kernels that work on many tensors at once. Each tensor has a record and is cut
// into blocks; workgroups stride over the blocks of all tensors and look their record up. Included
// behind the argument block, which has record_count, total_blocks and, last, records.
//
// Lanes take four consecutive elements at a time (tensors start at multiples of 16 bytes), then the
// last one to three elements of a block singly. `whole` is a constant at each call: drivers that
// run both sides of a branch must not see one here.

// The record of `block`: the last one whose first block is not behind it. record_count > 0.
uint find_record(uint block) {
  uint low = 0, high = args.record_count;
  while (high - low > 1) {
    uint middle = low + (high - low) / 2;
    if (args.records[middle].first_block <= block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Each block exactly once over the grid.
#define OA_FOR_EACH_BLOCK(block) \
  OA_FOR_EACH_ROW(block, args.record_count == 0 ? 0 : args.total_blocks)

// End of the block of `size` elements that starts at `first`, in a tensor of `count`.
uint block_end(uint first, uint size, uint count) {
  return first < count ? first + min(size, count - first) : first;
}

// End of the whole groups of four of elements [first, end).
uint groups_end(uint first, uint end) { return end - (end - first) % 4; }

// This lane's groups among the whole ones of [first, end), and its single elements behind those.
#define OA_FOR_EACH_GROUP(i, first, end)                             \
  for (uint i = oa_add_saturated(first, 4 * gl_LocalInvocationID.x), \
            i##_end = groups_end(first, end);                        \
       i < i##_end; i = oa_advance(i, 4 * OA_WG, i##_end))
#define OA_FOR_EACH_SINGLE(i, first, end)                                         \
  for (uint i = oa_add_saturated(groups_end(first, end), gl_LocalInvocationID.x); \
       i < (end); i = oa_advance(i, OA_WG, end))

// Elements i .. i + 3, or element i alone.
vec4 load4(F32In x, uint i, bool whole) {
  return whole ? F32x4In(x).v[i / 4] : vec4(x.v[i], 0.0, 0.0, 0.0);
}

void store4(F32Out x, uint i, bool whole, vec4 value) {
  if (whole) {
    F32x4Out(x).v[i / 4] = value;
  } else {
    x.v[i] = value.x;
  }
}
