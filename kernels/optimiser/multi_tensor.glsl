// multi_tensor.glsl: kernels that work on many tensors at once. Each tensor has a record and is cut
// into blocks; workgroups stride over the blocks of all tensors and look their record up. Included
// behind the argument block, which has record_count, total_blocks and, last, records.
//
// A lane handles four consecutive elements at a time; tensors start at multiples of 16 bytes.

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

// First elements of the groups of four that this lane has in elements [first, end) of a tensor.
#define OA_FOR_EACH_GROUP(i, first, end)                                   \
  for (uint i = oa_add_saturated(first, 4 * gl_LocalInvocationID.x); i < (end); \
       i = oa_advance(i, 4 * OA_WG, end))

// End of the block of `size` elements that starts at `first`, in a tensor of `count`.
uint block_end(uint first, uint size, uint count) {
  return first < count ? first + min(size, count - first) : first;
}

// Elements i .. i + 3 of a tensor of `count`; those behind its end are 0 and are not stored.
vec4 load4(F32In x, uint i, uint count) {
  if (count - i >= 4) return F32x4In(x).v[i / 4];
  vec4 value = vec4(x.v[i], 0.0, 0.0, 0.0);
  if (count - i > 1) value.y = x.v[i + 1];
  if (count - i > 2) value.z = x.v[i + 2];
  return value;
}

void store4(F32Out x, uint i, uint count, vec4 value) {
  if (count - i >= 4) {
    F32x4Out(x).v[i / 4] = value;
  } else {
    x.v[i] = value.x;
    if (count - i > 1) x.v[i + 1] = value.y;
    if (count - i > 2) x.v[i + 2] = value.z;
  }
}
