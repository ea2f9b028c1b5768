// reduce: y[o, c, i] = scale * sum of x[o, e, i] over chunk c of the axis, e in [c, c + 1) * chunk;
//   with operation 1 the maximum, unscaled. Several chunks are partial results that a second
//   dispatch reduces.
// Shapes:   x [outer, extent, inner], y [outer, chunks, inner] with
//           chunks = max(1, ceil(extent / chunk)).
// Cost:     reads 4 * outer * extent * inner bytes, writes 4 * outer * chunks * inner; 1 flop an
//           element.
// Numerics: four accumulators a lane, then the lanes of a column pairwise: the error grows with the
//           logarithm and the length of a lane's share. Sums of no element are 0, maxima -inf; a
//           maximum over a NaN is NaN. The order depends on the shape and the variant only.
// Source:   Blanchard, Higham & Mary 2020 (blocked summation).
#version 460
#include "reduce/columns.glsl"
#include "reduce/ordered.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 2) const uint operation = 0;
const uint kSum = 0, kMax = 1;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  F32Out y;
  uint outer;
  uint extent;
  uint inner;
  uint chunk;
  float scale;
};
OA_PUSH(Args);

void main() {
  U32In x = args.x;
  F32Out y = args.y;
  uint extent = args.extent, inner = args.inner, chunk = args.chunk;
  float scale = args.scale;
  uint columns = oa_mul_saturated(args.outer, inner);
  uint tiles = column_tiles(columns);
  uint chunks = max(oa_ceil_div(extent, chunk), 1u);
  OA_FOR_EACH_ROW(r, oa_mul_saturated(tiles, chunks)) {
    uint c = r / tiles;
    uint q = (r - c * tiles) * max(width, 1u) + column_slot();
    bool live = q < columns;
    uint begin = c * chunk;
    uint count = live ? min(chunk, extent - begin) : 0u;
    uint base = column_base(q, extent, inner) + begin * inner;
    uint blocks = column_blocks(count);
    float result;
    if (operation == kSum) {
      vec4 sums = vec4(0.0);
      for (uint k = 0; k < blocks; ++k) {
        sums += uintBitsToFloat(column_load(x, base, count, inner, k, 0u));
      }
      result = scale * column_sum((sums.x + sums.y) + (sums.z + sums.w));
    } else {
      uvec4 keys = oa_ordered(uvec4(kNegativeInfinity));
      for (uint k = 0; k < blocks; ++k) {
        keys = max(keys, oa_ordered(column_load(x, base, count, inner, k, kNegativeInfinity)));
      }
      result = oa_from_ordered(column_max(max(max(keys.x, keys.y), max(keys.z, keys.w))));
    }
    if (live && column_lane() == 0u) {
      uint o = q / inner;
      y.v[(o * chunks + c) * inner + (q - o * inner)] = result;
    }
  }
}
