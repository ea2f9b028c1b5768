// vq_assign: the code nearest to each row: the smallest k with the smallest
//   distance[n, k] = sum_d (latent[n, d] - codebook[k, d])^2, in that form, so that ties stay ties.
// Shapes:   latent [rows, columns], codebook [codes, columns], keys, indices U32 [shares, rows].
// Cost:     3 rows codes columns flops; reads rows codes columns / 8 bytes, writes at most 8 bytes
//           a row and share.
// Numerics: fp32, d ascending, the same operations for every code.
// Design:   like blas/matmul.comp: 16 x 16 invocations compare 64 rows with 64 codes at a time,
//           slices of 16 columns through shared memory, 4 x 4 distances an invocation in registers;
//           the next slice is read while one is used. The best of each row stays in registers until
//           all codes of the share have been seen.
#version 460
#include "vq/assign.glsl"

OA_LOCAL_SIZE(OA_WG);

const uint kTile = 64;
const uint kSlice = 16;
const uint kPer = kTile / 16;                  // rows, and codes, of an invocation
const uint kFetches = kTile * kSlice / OA_WG;  // of an operand by an invocation
const uint kStep = 4;                          // columns between tests for the end
const uint kPad = 4;                           // keeps vectors aligned and spreads the banks
shared float left[kSlice][kTile + kPad];
shared float right[kSlice][kTile + kPad];
shared uint found[kTile][16];

F32In latent, codebook;
uint rows, columns, codes;
float distance2[kPer][kPer];
uint best_key[kPer], best_code[kPer];

// Element s of this invocation's share of a slice: line and column of it.
uint line_of(uint s) { return (s * OA_WG + gl_LocalInvocationID.x) / kSlice; }
uint column_of(uint s) { return (s * OA_WG + gl_LocalInvocationID.x) % kSlice; }

// Lines and columns behind the end repeat the last one; see put.
#define OA_FETCH(next, p, first, end, d0)                             \
  [[unroll]] for (uint s = 0; s < kFetches; ++s) {                    \
    uint line = min(first + line_of(s), end - 1u);                    \
    next[s] = p.v[line * columns + min(d0 + column_of(s), columns - 1u)]; \
  }

// Columns behind the end count as zero in both operands.
void put(float next_left[kFetches], float next_right[kFetches], uint d0) {
  [[unroll]] for (uint s = 0; s < kFetches; ++s) {
    bool inside = d0 + column_of(s) < columns;
    left[column_of(s)][line_of(s)] = inside ? next_left[s] : 0.0;
    right[column_of(s)][line_of(s)] = inside ? next_right[s] : 0.0;
  }
}

// Invocation (ty, tx) owns rows ty * kPer + i and codes tx + 16 j of the tile.
void add_slice(uint ty, uint tx, uint count) {
  [[dont_unroll]] for (uint first = 0; first < count; first += kStep) {
    [[unroll]] for (uint dd = 0; dd < kStep; ++dd) {
      float l[kPer], r[kPer];
      [[unroll]] for (uint i = 0; i < kPer; ++i) l[i] = left[first + dd][ty * kPer + i];
      [[unroll]] for (uint j = 0; j < kPer; ++j) r[j] = right[first + dd][tx + 16 * j];
      [[unroll]] for (uint i = 0; i < kPer; ++i) {
        [[unroll]] for (uint j = 0; j < kPer; ++j) {
          float difference = l[i] - r[j];
          distance2[i][j] = fma(difference, difference, distance2[i][j]);
        }
      }
    }
  }
}

void compare_tile(uint row0, uint code0, uint ty, uint tx) {
  [[unroll]] for (uint i = 0; i < kPer; ++i) {
    [[unroll]] for (uint j = 0; j < kPer; ++j) distance2[i][j] = 0.0;
  }
  float next_left[kFetches], next_right[kFetches];
  OA_FETCH(next_left, latent, row0, rows, 0u)
  OA_FETCH(next_right, codebook, code0, codes, 0u)
  for (uint d0 = 0; d0 < columns; d0 = oa_advance(d0, kSlice, columns)) {
    put(next_left, next_right, d0);
    barrier();
    uint d1 = oa_advance(d0, kSlice, columns);
    OA_FETCH(next_left, latent, row0, rows, d1)
    OA_FETCH(next_right, codebook, code0, codes, d1)
    add_slice(ty, tx, min(columns - d0, kSlice));
    barrier();
  }
}

// An invocation sees its codes in ascending order: only a smaller key replaces the best.
void keep_best(uint code0, uint code_end, uint tx) {
  [[unroll]] for (uint j = 0; j < kPer; ++j) {
    uint code = code0 + tx + 16 * j;
    [[unroll]] for (uint i = 0; i < kPer; ++i) {
      uint key = distance_key(distance2[i][j], code);
      bool better = code < code_end && key < best_key[i];
      best_key[i] = better ? key : best_key[i];
      best_code[i] = better ? code : best_code[i];
    }
  }
}

// The smallest of 16 values of each row of the block; valid in invocations below kTile.
uint smallest(uint values[kPer], uint ty, uint tx) {
  [[unroll]] for (uint i = 0; i < kPer; ++i) found[ty * kPer + i][tx] = values[i];
  barrier();
  uint row = gl_LocalInvocationID.x % kTile, value = found[row][0];
  [[unroll]] for (uint t = 1; t < 16; ++t) value = min(value, found[row][t]);
  barrier();
  return value;
}

shared uint row_keys[kTile];

void store_best(uint row0, uint share, uint ty, uint tx) {
  uint lane = gl_LocalInvocationID.x;
  uint key = smallest(best_key, ty, tx);
  if (lane < kTile) row_keys[lane] = key;
  barrier();
  [[unroll]] for (uint i = 0; i < kPer; ++i) {
    if (best_key[i] != row_keys[ty * kPer + i]) best_code[i] = 0xffffffffu;
  }
  uint code = smallest(best_code, ty, tx);
  if (lane < kTile && row0 + lane < rows) {
    uint at = share * rows + row0 + lane;
    if (want_keys != 0u) args.keys.v[at] = key;
    args.indices.v[at] = code;
  }
}

void main() {
  latent = args.latent;
  codebook = args.codebook;
  rows = args.rows;
  columns = args.columns;
  codes = args.codes;
  uint shares = max(args.shares, 1u);
  uint tx = gl_LocalInvocationID.x % 16, ty = gl_LocalInvocationID.x / 16;
  uint tiles = codes / kTile + uint(codes % kTile != 0u);
  uint per_share = tiles / shares + uint(tiles % shares != 0u);
  uint blocks = rows / kTile + uint(rows % kTile != 0u);
  uint units = columns == 0u ? 0u : oa_mul_saturated(blocks, args.shares);
  OA_FOR_EACH_ROW(unit, units) {
    uint share = unit / blocks, row0 = (unit - share * blocks) * kTile;
    uint tile = min(oa_mul_saturated(share, per_share), tiles);
    uint tile_end = min(oa_add_saturated(tile, per_share), tiles);
    [[unroll]] for (uint i = 0; i < kPer; ++i) {
      best_key[i] = kWorstKey;
      best_code[i] = 0xffffffffu;
    }
    for (; tile < tile_end; ++tile) {
      compare_tile(row0, tile * kTile, ty, tx);
      keep_best(tile * kTile, codes, tx);
    }
    store_best(row0, share, ty, tx);
  }
}
