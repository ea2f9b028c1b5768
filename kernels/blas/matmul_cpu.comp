// matmul, CPU variant: C[b, i, j] = sum_k A[b, i, k] * B[b, k, j], then the epilogue.
// Shapes:   A [batch, m, k] and B [batch, k, n] through one stride per axis (so every transposition
//           is the same kernel), C [batch, m, n] dense.
// Cost:     2 batch m n k flops; reads batch m n k / 2 bytes, mostly from cache.
// Numerics: fp32, k ascending within each result; relative error about sqrt(k) * 6e-8.
// Design:   a workgroup is one subgroup of 8 and owns 16 rows x 16 columns in registers. On
//           software devices a load is a loop over the lanes, about 30 cycles, and a multiply-add
//           costs one. So lanes are columns of B, and 8 values of k of one row of A are loaded at
//           once and handed around by shuffles: 32 loads for 256 multiply-adds. No shared memory,
//           no barrier. With OA_GROUPED by groups of rows: see product.glsl.
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#include "blas/product.glsl"

OA_LOCAL_SIZE(OA_WG);

const uint kRows = 16;
const uint kVectors = 2;                // of 8 columns each
const uint kColumns = 8 * kVectors;
// Read from `args` above all loops: the driver then knows that they are the same in all lanes.
F32In a, b;
uint n, k, a_col, b_row;
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

void store_tile(Part part, uint column0) {
  [[dont_unroll]] for (uint t = 0; t < kRows * kVectors; ++t) {
    uint row = part.row0 + t / kVectors, column = column0 + 8 * (t % kVectors);
    if (row < part.row_end && column < n) {
      oa_epilogue_store(part.first_result + row * n + column, pick(t));
    }
  }
}

void main() {
  a = args.a;
  b = args.b;
  n = args.n;
  a_col = args.a_col;
  b_row = args.b_row;
  uint a_row = args.a_row, b_col = args.b_col, count = part_count(kRows, kColumns);
  oa_epilogue_prepare();
  OA_FOR_EACH_ROW(tile, count) {
    Part part = part_of(tile, kRows, kColumns);
#ifdef OA_GROUPED
    if (part.row0 >= part.row_end) continue;
#endif
    k = part.k;
    uint column0 = part.column0 + gl_LocalInvocationID.x;
    // Rows and columns outside the matrix repeat the last one and are not stored.
    [[unroll]] for (uint c = 0; c < kVectors; ++c) {
      uint column = min(column0 + 8 * c, n - 1);
      column_at[c] = part.b_base + column * b_col;
      float first = first_term(part, column);
      [[unroll]] for (uint r = 0; r < kRows; ++r) acc[r][c] = first;
    }
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      row_at[r] = part.a_base + min(part.row0 + r, part.row_end - 1) * a_row;
    }
    multiply();
    store_tile(part, column0);
  }
}
