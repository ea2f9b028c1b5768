// product.glsl: arguments of the product kernels, and which part of a product a workgroup computes.
// Include behind OA_LOCAL_SIZE.
//
// A variant with OA_GROUPED multiplies by groups of rows: group g owns rows offsets[g] up to
// offsets[g + 1]. Either those are rows of a and of the result (summed == 0): then they are
// multiplied with entry g of b, and a tile has rows of one group only. Or they are the summed rows
// of both operands (summed == 1): then each group has a result of its own, as `batch` partial sums
// over equal shares of its rows. Offsets are data: they are clipped to the rows there are, and the
// rows before the first and behind the last one have no group.
#ifndef OA_BLAS_PRODUCT_GLSL_
#define OA_BLAS_PRODUCT_GLSL_

#include "common/epilogue.glsl"

#ifdef OA_GROUPED
#define OA_GROUPED_BUFFERS U32In offsets; F32In bias;
#define OA_GROUPED_SCALARS uint groups;
layout(constant_id = 0) const uint summed = 0;
layout(constant_id = 1) const uint has_bias = 0;
#else
#define OA_GROUPED_BUFFERS
#define OA_GROUPED_SCALARS
#endif

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In a, b;
  OA_GROUPED_BUFFERS
  uint m, n, k, batch;
  uint a_row, a_col, a_batch;
  uint b_row, b_col, b_batch;
  OA_GROUPED_SCALARS
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_EPILOGUE_CODE

// One tile: rows row0 .. min(row0 + tile_m, row_end) and columns column0 .. of a matrix whose first
// element is result first_result.
struct Part {
  uint row0, row_end;
  uint column0;
  uint k;               // terms of a sum; 0 gives zeros
  uint a_base, b_base;  // where row 0 and column 0 of the operands start
  uint first_result;
  uint group;           // of the bias; kNoGroup: no bias
};
const uint kNoGroup = 0xffffffffu;

#ifndef OA_GROUPED

uint part_count(uint tile_m, uint tile_n) {
  return ((args.n + tile_n - 1) / tile_n) * ((args.m + tile_m - 1) / tile_m) * args.batch;
}

Part part_of(uint tile, uint tile_m, uint tile_n) {
  uint m = args.m, n = args.n;
  uint tiles_n = (n + tile_n - 1) / tile_n, tiles = tiles_n * ((m + tile_m - 1) / tile_m);
  uint batch = tile / tiles, rest = tile % tiles;
  return Part(rest / tiles_n * tile_m, m, rest % tiles_n * tile_n, args.k, batch * args.a_batch,
              batch * args.b_batch, batch * m * n, kNoGroup);
}

float first_term(Part part, uint column) { return 0.0; }

#else

// Where stretch s of all rows starts: stretch 0 lies before all groups, s is group s - 1, and
// groups + 1 lies behind them.
uint stretch_start(uint s, uint rows) {
  uint start = min(args.offsets.v[min(s - min(s, 1u), args.groups)], rows);
  return s == 0u ? 0u : s > args.groups + 1u ? rows : start;
}

// A stretch of c rows needs at most c / tile_m + 1 tiles. So if stretch s gets the tiles from
// start(s) / tile_m + s on, none are missing, and few are left over.
uint row_tiles(uint tile_m) {
  return oa_add_saturated(args.m / tile_m, oa_add_saturated(args.groups, 2u));
}

uint part_count(uint tile_m, uint tile_n) {
  uint tiles_n = (args.n + tile_n - 1) / tile_n;
  if (summed == 0u) return oa_mul_saturated(row_tiles(tile_m), tiles_n);
  uint tiles = tiles_n * ((args.m + tile_m - 1) / tile_m);
  return oa_mul_saturated(tiles, oa_mul_saturated(args.groups, args.batch));
}

Part rows_of_group(uint tile, uint tile_m, uint tile_n) {
  uint rows = args.m, groups = args.groups, tiles_n = (args.n + tile_n - 1) / tile_n;
  uint row_tile = tile / tiles_n;
  uint s = 0, behind = groups + 2u, first_tile = 0;  // bisection: whatever the offsets, it ends
  while (behind - s > 1u) {
    uint middle = s + (behind - s) / 2u;
    uint tiles_before = stretch_start(middle, rows) / tile_m + middle;
    bool found = tiles_before <= row_tile;
    s = found ? middle : s;
    first_tile = found ? tiles_before : first_tile;
    behind = found ? behind : middle;
  }
  uint start = stretch_start(s, rows), end = max(stretch_start(s + 1u, rows), start);
  uint skipped = oa_mul_saturated(row_tile - first_tile, tile_m);
  uint row0 = start + min(skipped, end - start);
  bool grouped = s > 0u && s <= groups;
  uint group = grouped ? s - 1u : kNoGroup;
  return Part(row0, end, tile % tiles_n * tile_n, grouped ? args.k : 0u, 0u,
              grouped ? group * args.b_batch : 0u, 0u, group);
}

Part sum_of_group(uint tile, uint tile_m, uint tile_n) {
  uint m = args.m, n = args.n, rows = args.k;
  uint tiles_n = (n + tile_n - 1) / tile_n, tiles = tiles_n * ((m + tile_m - 1) / tile_m);
  uint entry = tile / tiles, rest = tile % tiles;
  uint group = entry % args.groups, share = entry / args.groups, shares = max(args.batch, 1u);
  uint start = min(args.offsets.v[group], rows), end = min(args.offsets.v[group + 1u], rows);
  uint count = max(start, end) - start;
  uint most = count / shares + uint(count % shares != 0u);
  uint skipped = min(oa_mul_saturated(share, most), count);
  uint k = min(most, count - skipped);
  uint first = k > 0u ? start + skipped : 0u;
  return Part(rest / tiles_n * tile_m, m, rest % tiles_n * tile_n, k, first * args.a_col,
              first * args.b_row, entry * m * n, kNoGroup);
}

// The part of workgroup `tile`; without rows (row0 == row_end) when there is nothing to do.
Part part_of(uint tile, uint tile_m, uint tile_n) {
  if (summed == 0u) return rows_of_group(tile, tile_m, tile_n);
  return sum_of_group(tile, tile_m, tile_n);
}

// The bias of a column, with which its sum starts.
float first_term(Part part, uint column) {
  if (has_bias == 0u || part.group == kNoGroup) return 0.0;
  return args.bias.v[part.group * args.n + min(column, args.n - 1u)];
}

#endif

#endif  // OA_BLAS_PRODUCT_GLSL_
