// vq_assign, CPU variant: the smallest k with the smallest
//   distance[n, k] = sum_d (latent[n, d] - codebook[k, d])^2, in that form, so that ties stay ties.
// Shapes:   latent [rows, columns], codebook [codes, columns], keys, indices U32 [shares, rows].
// Cost:     3 rows codes columns flops; reads rows codes columns / 2 bytes, mostly from cache.
// Numerics: fp32, d ascending, the same operations for every code.
// Design:   like blas/matmul_cpu.comp: a workgroup is one subgroup of 8 and compares 16 rows with
//           16 codes at a time; lanes are codes, 8 columns of a row are handed around by shuffles.
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "vq/assign.glsl"

OA_LOCAL_SIZE(OA_WG);

const uint kRows = 16;
const uint kVectors = 2;  // of 8 codes each
const uint kTile = 8 * kVectors;

F32In latent, codebook;
uint rows, columns, codes;
float distance2[kRows][kVectors];
uint best_key[kRows], best_code[kRows];
uint row_at[kRows];
uint code_at[kVectors];

// Adds column d: row r has its value in `lane` of values[r].
void add_column(uint d, float values[kRows], uint lane) {
  float right[kVectors];
  [[unroll]] for (uint c = 0; c < kVectors; ++c) right[c] = codebook.v[code_at[c] + d];
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    float left = subgroupShuffle(values[r], lane);
    [[unroll]] for (uint c = 0; c < kVectors; ++c) {
      float difference = left - right[c];
      distance2[r][c] = fma(difference, difference, distance2[r][c]);
    }
  }
}

void add_columns() {
  uint lane = gl_LocalInvocationID.x;
  float values[kRows];
  uint d = 0;
  for (; columns - d >= 8; d += 8) {
    [[unroll]] for (uint r = 0; r < kRows; ++r) values[r] = latent.v[row_at[r] + d + lane];
    [[unroll]] for (uint j = 0; j < 8; ++j) add_column(d + j, values, j);
  }
  if (d < columns) {
    uint own = min(d + lane, columns - 1);
    [[unroll]] for (uint r = 0; r < kRows; ++r) values[r] = latent.v[row_at[r] + own];
    [[dont_unroll]] for (uint j = 0; d + j < columns; ++j) add_column(d + j, values, j);
  }
}

// A lane sees its codes in ascending order: only a smaller key replaces the best.
void compare_tile(uint code0) {
  uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint c = 0; c < kVectors; ++c) {
    code_at[c] = min(code0 + lane + 8 * c, codes - 1) * columns;
    [[unroll]] for (uint r = 0; r < kRows; ++r) distance2[r][c] = 0.0;
  }
  add_columns();
  [[unroll]] for (uint c = 0; c < kVectors; ++c) {
    uint code = code0 + lane + 8 * c;
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      uint key = distance_key(distance2[r][c], code);
      bool better = code < codes && key < best_key[r];
      best_key[r] = better ? key : best_key[r];
      best_code[r] = better ? code : best_code[r];
    }
  }
}

void store_best(uint row0, uint share) {
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    uint key = subgroupMin(best_key[r]);
    uint code = subgroupMin(best_key[r] == key ? best_code[r] : 0xffffffffu);
    if (gl_LocalInvocationID.x == 0u && row0 + r < rows) {
      uint at = share * rows + row0 + r;
      if (want_keys != 0u) args.keys.v[at] = key;
      args.indices.v[at] = code;
    }
  }
}

void main() {
  latent = args.latent;
  codebook = args.codebook;
  rows = args.rows;
  columns = args.columns;
  codes = args.codes;
  uint shares = max(args.shares, 1u);
  uint tiles = codes / kTile + uint(codes % kTile != 0u);
  uint per_share = tiles / shares + uint(tiles % shares != 0u);
  uint blocks = rows / kRows + uint(rows % kRows != 0u);
  uint units = columns == 0u ? 0u : oa_mul_saturated(blocks, args.shares);
  OA_FOR_EACH_ROW(unit, units) {
    uint share = unit / blocks, row0 = (unit - share * blocks) * kRows;
    uint tile = min(oa_mul_saturated(share, per_share), tiles);
    uint tile_end = min(oa_add_saturated(tile, per_share), tiles);
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      best_key[r] = kWorstKey;
      best_code[r] = 0xffffffffu;
      row_at[r] = min(row0 + r, rows - 1) * columns;
    }
    for (; tile < tile_end; ++tile) compare_tile(tile * kTile);
    store_best(row0, share);
  }
}
