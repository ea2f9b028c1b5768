// matmul: C[b, i, j] = sum_k A[b, i, k] * B[b, k, j], then the epilogue.
// Shapes:   A [batch, m, k] and B [batch, k, n] through one stride per axis (so every transposition
//           is the same kernel), C [batch, m, n] dense.
// Cost:     2 batch m n k flops; reads 4 batch m n k (1/OA_TILE_M + 1/OA_TILE_N) bytes.
// Numerics: fp32, k ascending within each result; relative error about sqrt(k) * 6e-8.
// Design:   one workgroup of 16 x 16 invocations per OA_TILE_M x OA_TILE_N results, slices of 16 k
//           through shared memory (8.5 KiB for 64 x 64), OA_TILE_M/16 x OA_TILE_N/16 results per
//           invocation in registers. The next slice is read while one is multiplied; its loads are
//           clamped instead of guarded, because behind a branch they would be waited for at once.
//           No assumption about subgroups.
//           With OA_GROUPED by groups of rows: see product.glsl.
#version 460
#include "blas/product.glsl"

OA_LOCAL_SIZE(OA_WG);

const uint kSlice = 16;
const uint kRows = OA_TILE_M / 16;      // results of an invocation
const uint kColumns = OA_TILE_N / 16;
const uint kPad = 4;                    // keeps vectors aligned and spreads the banks
shared float left[kSlice][OA_TILE_M + kPad];
shared float right[kSlice][OA_TILE_N + kPad];
float acc[kRows][kColumns];

// Element s of this invocation's share of a panel: line x, slice row kk. Neighbouring invocations
// read along the axis with the smaller stride.
uint share_line(uint s, uint tile, bool k_first) {
  uint e = s * OA_WG + gl_LocalInvocationID.x;
  return k_first ? e / kSlice : e % tile;
}
uint share_k(uint s, uint tile, bool k_first) {
  uint e = s * OA_WG + gl_LocalInvocationID.x;
  return k_first ? e % kSlice : e / tile;
}

// Reads element (x0 + x, k0 + kk) of an operand, or the last one of an axis it lies behind.
#define OA_FETCH(next, p, base, tile, x0, x_end, x_step, k0, k_end, k_step)        \
  [[unroll]] for (uint s = 0; s < tile * kSlice / OA_WG; ++s) {                    \
    uint x = min(x0 + share_line(s, tile, k_step < x_step), x_end - 1);            \
    uint kk = min(k0 + share_k(s, tile, k_step < x_step), k_end - 1);              \
    next[s] = p.v[base + x * x_step + kk * k_step];                                \
  }

// Stores what was read to panel[kk][x]. Behind the end of k both operands count as zero.
#define OA_PUT(panel, next, tile, x_step, k0, k_end, k_step)                       \
  [[unroll]] for (uint s = 0; s < tile * kSlice / OA_WG; ++s) {                    \
    uint kk = share_k(s, tile, k_step < x_step);                                   \
    panel[kk][share_line(s, tile, k_step < x_step)] = k0 + kk < k_end ? next[s] : 0.0; \
  }

// Invocation (ty, tx) owns rows ty * kRows + i and columns tx + 16 j: stores of a row are dense.
void multiply_slice(uint ty, uint tx) {
  [[unroll]] for (uint kk = 0; kk < kSlice; ++kk) {
    float l[kRows], r[kColumns];
    [[unroll]] for (uint i = 0; i < kRows; ++i) l[i] = left[kk][ty * kRows + i];
    [[unroll]] for (uint j = 0; j < kColumns; ++j) r[j] = right[kk][tx + 16 * j];
    [[unroll]] for (uint i = 0; i < kRows; ++i) {
      [[unroll]] for (uint j = 0; j < kColumns; ++j) acc[i][j] = fma(l[i], r[j], acc[i][j]);
    }
  }
}

// Result t of this invocation, t = i * kColumns + j.
float pick(uint t) {
  float value = acc[0][0];
  [[unroll]] for (uint i = 0; i < kRows; ++i) {
    [[unroll]] for (uint j = 0; j < kColumns; ++j) {
      value = t == i * kColumns + j ? acc[i][j] : value;
    }
  }
  return value;
}

void multiply_tile(Part part, uint ty, uint tx) {
  uint n = args.n, k = part.k, k_end = max(k, 1u);
  uint row0 = part.row0, row_end = part.row_end, column0 = part.column0;
  F32In a = args.a, b = args.b;
  uint a_base = part.a_base, b_base = part.b_base;
  uint a_row = args.a_row, a_col = args.a_col, b_row = args.b_row, b_col = args.b_col;
  [[unroll]] for (uint j = 0; j < kColumns; ++j) {
    float first = first_term(part, column0 + tx + 16 * j);
    [[unroll]] for (uint i = 0; i < kRows; ++i) acc[i][j] = first;
  }
  float next_a[OA_TILE_M * kSlice / OA_WG], next_b[OA_TILE_N * kSlice / OA_WG];
  OA_FETCH(next_a, a, a_base, OA_TILE_M, row0, row_end, a_row, 0, k_end, a_col)
  OA_FETCH(next_b, b, b_base, OA_TILE_N, column0, n, b_col, 0, k_end, b_row)
  for (uint k0 = 0; k0 < k; k0 = oa_advance(k0, kSlice, k)) {
    OA_PUT(left, next_a, OA_TILE_M, a_row, k0, k, a_col)
    OA_PUT(right, next_b, OA_TILE_N, b_col, k0, k, b_row)
    barrier();
    uint k1 = oa_advance(k0, kSlice, k);
    OA_FETCH(next_a, a, a_base, OA_TILE_M, row0, row_end, a_row, k1, k, a_col)
    OA_FETCH(next_b, b, b_base, OA_TILE_N, column0, n, b_col, k1, k, b_row)
    multiply_slice(ty, tx);
    barrier();
  }
}

void store_tile(Part part, uint ty, uint tx) {
  uint n = args.n;
  oa_epilogue_prepare();
  [[dont_unroll]] for (uint t = 0; t < kRows * kColumns; ++t) {
    uint row = part.row0 + ty * kRows + t / kColumns;
    uint column = part.column0 + tx + 16 * (t % kColumns);
    if (row < part.row_end && column < n) {
      oa_epilogue_store(part.first_result + row * n + column, pick(t));
    }
  }
}

void main() {
  uint tx = gl_LocalInvocationID.x % 16, ty = gl_LocalInvocationID.x / 16;
  OA_FOR_EACH_ROW(tile, part_count(OA_TILE_M, OA_TILE_N)) {
    Part part = part_of(tile, OA_TILE_M, OA_TILE_N);
#ifdef OA_GROUPED
    if (part.row0 >= part.row_end) continue;
#endif
    multiply_tile(part, ty, tx);
    store_tile(part, ty, tx);
  }
}
