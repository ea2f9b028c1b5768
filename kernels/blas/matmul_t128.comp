// matmul, large tile: C[b, i, j] = sum_k A[b, i, k] * B[b, k, j], then the epilogue.
// Shapes:   as matmul.comp; n a multiple of 4.
// Cost:     2 batch m n k flops; reads batch m n k / 16 bytes.
// Numerics: fp32, k ascending within each result; relative error about sqrt(k) * 6e-8.
// Design:   one workgroup of 256 per 128 x 128 results, 8 x 8 results per invocation as four 4 x 4
//           blocks. Slices of OA_SLICE k go through two shared buffers: while one is multiplied,
//           the next slice is on its way to registers, so a slice costs one barrier. Memory is read
//           four floats at a time along the contiguous axis when strides and addresses allow it.
// Source:   the usual register-blocked scheme, e.g. Volkov & Demmel 2008.
#version 460
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

const uint kTile = 128;
const uint kQuads = kTile * OA_SLICE / 4 / OA_WG;  // vec4 an invocation moves per slice and operand
shared vec4 left[2][OA_SLICE][kTile / 4];
shared vec4 right[2][OA_SLICE][kTile / 4];
vec4 acc[16];  // acc[(4 p + i) * 2 + q]: row 64 p + 4 ty + i, columns 64 q + 4 tx + 0..3

// One operand: element kk of line x is at base + x * x_step + kk * k_step; x0 is the panel's first
// line, `extent` the number of lines there are.
struct Operand {
  F32In p;
  uint base;
  uint x0;
  uint extent;
  uint x_step;
  uint k_step;
  bool along_k;  // a quad is four k of one line, else four lines of one k
  bool packed;   // its four elements are adjacent and aligned
};

Operand operand(F32In p, uint base, uint x0, uint extent, uint x_step, uint k_step) {
  bool along_k = k_step < x_step;
  uint multiple = max(k_step, x_step) | base | (uvec2(p).x >> 2);
  bool packed = min(k_step, x_step) == 1u && (multiple & 3u) == 0u;
  return Operand(p, base, x0, extent, x_step, k_step, along_k, packed);
}

// Quad q of this invocation: its first line and k inside the panel.
uint quad_line(Operand o, uint q) {
  uint e = q * OA_WG + gl_LocalInvocationID.x;
  return o.along_k ? e / (OA_SLICE / 4) : e % (kTile / 4) * 4;
}
uint quad_k(Operand o, uint q) {
  uint e = q * OA_WG + gl_LocalInvocationID.x;
  return o.along_k ? e % (OA_SLICE / 4) * 4 : e / (kTile / 4);
}

vec4 fetch(Operand o, uint q, uint k0, uint k) {
  uint x = o.x0 + quad_line(o, q), kk = k0 + quad_k(o, q);
  uint left_over = o.along_k ? (x < o.extent && kk < k ? k - kk : 0)
                             : (kk < k && x < o.extent ? o.extent - x : 0);
  uint at = o.base + x * o.x_step + kk * o.k_step;
  if (o.packed && left_over >= 4) return F32x4In(o.p).v[at >> 2];
  uint step = o.along_k ? o.k_step : o.x_step;
  vec4 value = vec4(0.0);
  [[unroll]] for (uint c = 0; c < 4; ++c) {
    if (c < left_over) value[c] = o.p.v[at + c * step];
  }
  return value;
}

#define OA_PUT(panel, o, q, value)                                        \
  {                                                                       \
    uint x = quad_line(o, q), kk = quad_k(o, q);                          \
    if (o.along_k) {                                                      \
      [[unroll]] for (uint c = 0; c < 4; ++c) {                           \
        panel[kk + c][x >> 2][x & 3u] = value[c];                         \
      }                                                                   \
    } else {                                                              \
      panel[kk][x >> 2] = value;                                          \
    }                                                                     \
  }

void multiply_slice(uint buffer_index, uint ty, uint tx) {
  [[unroll]] for (uint kk = 0; kk < OA_SLICE; ++kk) {
    vec4 l[2] = {left[buffer_index][kk][ty], left[buffer_index][kk][16 + ty]};
    vec4 r[2] = {right[buffer_index][kk][tx], right[buffer_index][kk][16 + tx]};
    [[unroll]] for (uint i = 0; i < 8; ++i) {
      vec4 x = vec4(l[i / 4][i % 4]);
      acc[2 * i] = fma(x, r[0], acc[2 * i]);
      acc[2 * i + 1] = fma(x, r[1], acc[2 * i + 1]);
    }
  }
}

void multiply_tile(uint batch, uint row0, uint column0, uint ty, uint tx) {
  uint k = args.k;
  F32In a_data = args.a, b_data = args.b;
  Operand a = operand(a_data, batch * args.a_batch, row0, args.m, args.a_row, args.a_col);
  Operand b = operand(b_data, batch * args.b_batch, column0, args.n, args.b_col, args.b_row);
  [[unroll]] for (uint t = 0; t < 16; ++t) acc[t] = vec4(0.0);
  vec4 next_a[kQuads], next_b[kQuads];
  [[unroll]] for (uint q = 0; q < kQuads; ++q) {
    next_a[q] = fetch(a, q, 0, k);
    next_b[q] = fetch(b, q, 0, k);
  }
  uint current = 0;
  for (uint k0 = 0; k0 < k; k0 += OA_SLICE) {
    [[unroll]] for (uint q = 0; q < kQuads; ++q) {
      OA_PUT(left[current], a, q, next_a[q])
      OA_PUT(right[current], b, q, next_b[q])
    }
    barrier();
    if (k - k0 > OA_SLICE) {
      [[unroll]] for (uint q = 0; q < kQuads; ++q) {
        next_a[q] = fetch(a, q, k0 + OA_SLICE, k);
        next_b[q] = fetch(b, q, k0 + OA_SLICE, k);
      }
    }
    multiply_slice(current, ty, tx);
    current = 1 - current;
  }
}

vec4 pick(uint t) {
  vec4 value = acc[0];
  [[unroll]] for (uint s = 1; s < 16; ++s) value = t == s ? acc[s] : value;
  return value;
}

void store_tile(uint batch, uint row0, uint column0, uint ty, uint tx) {
  uint m = args.m, n = args.n;
  oa_epilogue_prepare();
  [[dont_unroll]] for (uint t = 0; t < 16; ++t) {
    uint row = row0 + (t / 8) * 64 + 4 * ty + (t / 2) % 4;
    uint column = column0 + (t % 2) * 64 + 4 * tx;
    if (row < m && column < n) oa_epilogue_store4((batch * m + row) * n + column, pick(t));
  }
}

void main() {
  uint tx = gl_LocalInvocationID.x % 16, ty = gl_LocalInvocationID.x / 16;
  uint tiles_n = (args.n + kTile - 1) / kTile;
  uint tiles = tiles_n * ((args.m + kTile - 1) / kTile);
  OA_FOR_EACH_ROW(tile, tiles * args.batch) {
    uint batch = tile / tiles, rest = tile % tiles;
    uint row0 = rest / tiles_n * kTile, column0 = rest % tiles_n * kTile;
    multiply_tile(batch, row0, column0, ty, tx);
    store_tile(batch, row0, column0, ty, tx);
    barrier();
  }
}
