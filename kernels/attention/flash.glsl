// flash.glsl: what the attention kernels that never store scores share. A workgroup owns kOwn rows
// (queries, or keys in the backward pass of keys) and walks over the others kOther at a time: a
// tile of products of rows, weights made of it in shared memory, and their product with a slice of
// kSlice columns, in registers. Wider heads take several slices, each with its own scores.
//
// Dao et al. 2022, "FlashAttention"; online softmax: Milakov and Gimelshein 2018.
#ifndef OA_ATTENTION_FLASH_GLSL_
#define OA_ATTENTION_FLASH_GLSL_

#include "common/base.glsl"
#include "common/math.glsl"

const uint kOwn = 64;
const uint kOther = 32;
const uint kSlice = 64;
const uint kStep = 8;                    // columns of rows multiplied at a time
const uint kTileStride = kOther + 1;
const uint kStepStride = kStep + 1;
const uint kSliceStride = kSlice + 4;
const uint kStagedRows = 16;             // of a slice

shared float tile[kOwn * kTileStride];   // weights, own row by other row
shared float staged[kStagedRows * kSliceStride];  // holds (kOwn + kOther) * kStepStride too

layout(constant_id = 0) const uint masked = 0;
layout(constant_id = 1) const uint causal = 0;

// A matrix [heads, length, width] at one head.
struct Rows {
  F32In data;
  uint base;
  uint positions;
  uint width;
};

float row_element(Rows x, uint row, uint column) {
  float value = x.data.v[x.base + min(row, x.positions - 1) * x.width + min(column, x.width - 1)];
  return row < x.positions && column < x.width ? value : 0.0;
}

// Invocation (ty, tx) has own rows 4 ty + i and other rows tx + 16 j.
uint lane_y() { return gl_LocalInvocationID.x / 16; }
uint lane_x() { return gl_LocalInvocationID.x % 16; }

// acc[i][j] = own row . other row.
void multiply_rows(Rows own, uint own0, Rows other, uint other0, out float acc[4][2]) {
  uint lane = gl_LocalInvocationID.x, ty = lane_y(), tx = lane_x();
  [[unroll]] for (uint i = 0; i < 4; ++i) acc[i][0] = acc[i][1] = 0.0;
  for (uint k0 = 0; k0 < own.width; k0 += kStep) {
    barrier();
    [[unroll]] for (uint e = lane; e < kOwn * kStep; e += OA_WG) {
      staged[e / kStep * kStepStride + e % kStep] =
          row_element(own, own0 + e / kStep, k0 + e % kStep);
    }
    staged[(kOwn + lane / kStep) * kStepStride + lane % kStep] =
        row_element(other, other0 + lane / kStep, k0 + lane % kStep);
    barrier();
    [[unroll]] for (uint k = 0; k < kStep; ++k) {
      float right[2];
      [[unroll]] for (uint j = 0; j < 2; ++j) {
        right[j] = staged[(kOwn + tx + 16 * j) * kStepStride + k];
      }
      [[unroll]] for (uint i = 0; i < 4; ++i) {
        float left = staged[(4 * ty + i) * kStepStride + k];
        [[unroll]] for (uint j = 0; j < 2; ++j) acc[i][j] = fma(left, right[j], acc[i][j]);
      }
    }
  }
}

void store_tile(float weights[4][2]) {
  barrier();
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    [[unroll]] for (uint j = 0; j < 2; ++j) {
      tile[(4 * lane_y() + i) * kTileStride + lane_x() + 16 * j] = weights[i][j];
    }
  }
}

// sum[i][j] += tile * x: own rows 4 ty + i, columns slice0 + tx + 16 j.
void accumulate(Rows x, uint other0, uint slice0, inout float sum[4][4]) {
  uint lane = gl_LocalInvocationID.x, ty = lane_y(), tx = lane_x();
  [[dont_unroll]] for (uint r0 = 0; r0 < kOther; r0 += kStagedRows) {
    barrier();
    [[unroll]] for (uint e = lane; e < kStagedRows * kSlice; e += OA_WG) {
      staged[e / kSlice * kSliceStride + e % kSlice] =
          row_element(x, other0 + r0 + e / kSlice, slice0 + e % kSlice);
    }
    barrier();
    [[unroll]] for (uint k = 0; k < kStagedRows; ++k) {
      [[unroll]] for (uint i = 0; i < 4; ++i) {
        float weight = tile[(4 * ty + i) * kTileStride + r0 + k];
        [[unroll]] for (uint j = 0; j < 4; ++j) {
          sum[i][j] = fma(weight, staged[k * kSliceStride + tx + 16 * j], sum[i][j]);
        }
      }
    }
  }
}

void clear(out float sum[4][4]) {
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    [[unroll]] for (uint j = 0; j < 4; ++j) sum[i][j] = 0.0;
  }
}

void store_slice(F32Out y, Rows shape, uint own0, uint slice0, float sum[4][4]) {
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    [[unroll]] for (uint j = 0; j < 4; ++j) {
      uint row = own0 + 4 * lane_y() + i, column = slice0 + lane_x() + 16 * j;
      if (row < shape.positions && column < shape.width) {
        y.v[shape.base + row * shape.width + column] = sum[i][j];
      }
    }
  }
}

bool visible(uint query, uint key, uint length) {
  return query < length && key < length && (causal == 0u || key <= query);
}

// scale * product + mask of a visible pair.
float logit(float product, float scale, F32In mask, uint head, uint query, uint key, uint length) {
  float z = product * scale;
  return masked != 0u ? z + mask.v[(head * length + query) * length + key] : z;
}

// What a workgroup works on: item = (head, tile of own rows, slice).
struct Item {
  uint head;
  uint own0;
  uint slice0;
};

uint item_count(uint heads, uint length, uint width) {
  return heads * ((length + kOwn - 1) / kOwn) * ((width + kSlice - 1) / kSlice);
}

Item make_item(uint i, uint length, uint width) {
  uint tiles = (length + kOwn - 1) / kOwn, slices = (width + kSlice - 1) / kSlice;
  return Item(i / slices / tiles, i / slices % tiles * kOwn, i % slices * kSlice);
}

#endif  // OA_ATTENTION_FLASH_GLSL_
