// matmul, CPU variant: C[b, i, j] = sum_k A[b, i, k] * B[b, k, j], then the epilogue.
// Shapes:   A [batch, m, k] and B [batch, k, n] through one stride per axis (so every transposition
//           is the same kernel), C [batch, m, n] dense.
// Cost:     2 batch m n k flops; reads batch m n k / 2 bytes, mostly from cache.
// Numerics: fp32, k ascending within each result; relative error about sqrt(k) * 6e-8.
// Design:   a workgroup is one subgroup of 8 and owns 16 rows x 16 columns in registers. On
//           software devices a load is a loop over the lanes, about 30 cycles, and a multiply-add
//           costs one. So lanes are columns of B, and 8 values of k of one row of A are loaded at
//           once and handed around by shuffles: 32 loads for 256 multiply-adds. No shared memory,
//           no barrier.
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#include "common/epilogue.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In a, b;
  uint m, n, k, batch;
  uint a_row, a_col, a_batch;
  uint b_row, b_col, b_batch;
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_EPILOGUE_CODE

const uint kRows = 16;
const uint kVectors = 2;                // of 8 columns each
const uint kColumns = 8 * kVectors;
// Read from `args` above all loops: the driver then knows that they are the same in all lanes.
F32In a, b;
uint m, n, k, a_col, b_row;
float acc[kRows][kVectors];
uint row_at[kRows];                     // element offset of each row of A, and
uint column_at[kVectors];               // of this lane's columns of B

// acc += the product of one k: row r of A has its value in `lane` of values[r].
void step(uint offset, float values[kRows], uint lane) {
  float right[kVectors];
  [[unroll]] for (uint c = 0; c < kVectors; ++c) right[c] = b.v[column_at[c] + offset];
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    float left = subgroupShuffle(values[r], lane);
    [[unroll]] for (uint c = 0; c < kVectors; ++c) acc[r][c] = fma(left, right[c], acc[r][c]);
  }
}

void multiply() {
  uint lane = gl_LocalInvocationID.x;
  float values[kRows];
  uint at = 0;
  for (; k - at >= 8; at += 8) {
    [[unroll]] for (uint r = 0; r < kRows; ++r) values[r] = a.v[row_at[r] + (at + lane) * a_col];
    [[unroll]] for (uint j = 0; j < 8; ++j) step((at + j) * b_row, values, j);
  }
  if (at < k) {
    uint own = min(at + lane, k - 1) * a_col;
    [[unroll]] for (uint r = 0; r < kRows; ++r) values[r] = a.v[row_at[r] + own];
    [[dont_unroll]] for (uint j = 0; at + j < k; ++j) step((at + j) * b_row, values, j);
  }
}

// Result t of this lane, t = row * kVectors + vector.
float pick(uint t) {
  float value = acc[0][0];
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    [[unroll]] for (uint c = 0; c < kVectors; ++c) {
      value = t == r * kVectors + c ? acc[r][c] : value;
    }
  }
  return value;
}

void store_tile(uint batch, uint row0, uint column0) {
  [[dont_unroll]] for (uint t = 0; t < kRows * kVectors; ++t) {
    uint row = row0 + t / kVectors, column = column0 + 8 * (t % kVectors);
    if (row < m && column < n) oa_epilogue_store((batch * m + row) * n + column, pick(t));
  }
}

void main() {
  a = args.a;
  b = args.b;
  m = args.m;
  n = args.n;
  k = args.k;
  a_col = args.a_col;
  b_row = args.b_row;
  uint a_row = args.a_row, a_batch = args.a_batch, b_col = args.b_col, b_batch = args.b_batch;
  uint tiles_n = (n + kColumns - 1) / kColumns;
  uint tiles = tiles_n * ((m + kRows - 1) / kRows), count = tiles * args.batch;
  oa_epilogue_prepare();
  OA_FOR_EACH_ROW(tile, count) {
    uint batch = tile / tiles, rest = tile % tiles;
    uint row0 = rest / tiles_n * kRows;
    uint column0 = rest % tiles_n * kColumns + gl_LocalInvocationID.x;
    // Rows and columns outside the matrix repeat the last one and are not stored.
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      row_at[r] = batch * a_batch + min(row0 + r, m - 1) * a_row;
      [[unroll]] for (uint c = 0; c < kVectors; ++c) acc[r][c] = 0.0;
    }
    [[unroll]] for (uint c = 0; c < kVectors; ++c) {
      column_at[c] = batch * b_batch + min(column0 + 8 * c, n - 1) * b_col;
    }
    multiply();
    store_tile(batch, row0, column0);
  }
}
