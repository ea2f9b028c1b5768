// matmul, large tile: C[b, i, j] = sum_k A[b, i, k] * B[b, k, j], then the epilogue.
// Shapes:   as matmul.comp; n a multiple of 4.
// Cost:     2 batch m n k flops; reads batch m n k / 16 bytes.
// Numerics: fp32, k ascending within each result; relative error about sqrt(k) * 6e-8.
// Design:   one workgroup of 256 per 128 x 128 results, 8 x 8 results per invocation as four 4 x 4
//           blocks; 32 neighbours own 64 x 32. Slices of 16 k go through two shared buffers
//           (32 KiB): while one is multiplied, the next slice is on its way to registers, so a
//           slice costs one barrier. Memory is read four floats at a time along the contiguous
//           axis, without a branch around the loads: behind a branch the compiler would wait for
//           them at once, which costs a third of the speed. Operands whose strides or addresses do
//           not allow that, and the rest of k / 16, take a slower way. With OA_GROUPED by groups of
//           rows: see product.glsl.
// Source:   the usual register-blocked scheme, e.g. Volkov & Demmel 2008.
#version 460
#include "blas/product.glsl"

OA_LOCAL_SIZE(OA_WG);

const uint kTile = 128;
const uint kSlice = 16;
const uint kQuads = kTile * kSlice / 4 / OA_WG;  // vec4 an invocation moves per slice and operand
shared vec4 left[2][kSlice][kTile / 4];
shared vec4 right[2][kSlice][kTile / 4];
vec4 acc[16];  // acc[(4 p + i) * 2 + q]: row first_row() + 32 p + i, column first_column() + 16 q

uint lane() { return gl_LocalInvocationID.x % 32; }
uint first_row() { return gl_LocalInvocationID.x / 128 * 64 + lane() / 4 * 4; }
uint first_column() { return gl_LocalInvocationID.x / 32 % 4 * 32 + lane() % 4 * 4; }

// Where line x of slice row kk lies: the exclusive or keeps transposing stores free of conflicts.
uint slot(uint kk, uint x) { return (x >> 2) ^ ((kk >> 2) << 1); }

// One operand; element kk of line x is at base + x * x_step + kk * k_step.
struct Operand {
  F32In p;
  uint base;
  uint x0;            // first line of the tile, and
  uint extent;        // number of lines there are
  uint x_step;
  uint k_step;
  bool along_k;       // a quad is four k of one line, else four lines of one k
  bool packed;        // the elements of every quad are adjacent and aligned
  uint at[kQuads];    // vec4 offset of this invocation's quads in the next slice, if packed
};

// Line, relative to x0, and k, relative to the slice, at which quad q of this invocation starts.
uint quad_line(bool along_k, uint q) {
  uint e = q * OA_WG + gl_LocalInvocationID.x;
  return along_k ? e / (kSlice / 4) : e % (kTile / 4) * 4;
}
uint quad_k(bool along_k, uint q) {
  uint e = q * OA_WG + gl_LocalInvocationID.x;
  return along_k ? e % (kSlice / 4) * 4 : e / (kTile / 4);
}

Operand operand(F32In p, uint base, uint x0, uint extent, uint x_step, uint k_step) {
  Operand o;
  o.p = p;
  o.base = base;
  o.x0 = x0;
  o.extent = extent;
  o.x_step = x_step;
  o.k_step = k_step;
  o.along_k = k_step < x_step;
  uint multiple = max(k_step, x_step) | base | (uvec2(p).x >> 2) | (o.along_k ? 0 : extent);
  o.packed = min(k_step, x_step) == 1u && (multiple & 3u) == 0u;
  // Lines outside repeat the last ones: what they contribute to is never stored.
  uint last = extent - (o.along_k ? 1 : min(extent, 4));
  [[unroll]] for (uint q = 0; q < kQuads; ++q) {
    uint x = min(x0 + quad_line(o.along_k, q), last);
    o.at[q] = (base + x * x_step + quad_k(o.along_k, q) * k_step) >> 2;
  }
  return o;
}

// Quad q of the slice at k0 of k, element by element; zero outside the matrix.
vec4 fetch_slowly(Operand o, uint q, uint k0, uint k) {
  uint x = o.x0 + quad_line(o.along_k, q), kk = k0 + quad_k(o.along_k, q);
  bool inside = x < o.extent && kk < k;
  uint count = inside ? (o.along_k ? k - kk : o.extent - x) : 0;
  uint at = o.base + x * o.x_step + kk * o.k_step, step = o.along_k ? o.k_step : o.x_step;
  vec4 value = vec4(0.0);
  [[unroll]] for (uint c = 0; c < 4; ++c) {
    if (c < count) value[c] = o.p.v[at + c * step];
  }
  return value;
}

// Reads this invocation's quads of one slice and moves on by `step` vec4.
#define OA_FETCH(next, o, step)                                                \
  [[unroll]] for (uint q = 0; q < kQuads; ++q) {                               \
    next[q] = F32x4In(o.p).v[o.at[q]];                                         \
    o.at[q] += step;                                                           \
  }

#define OA_PUT(panel, o, next)                                                 \
  if (o.along_k) {                                                             \
    [[unroll]] for (uint q = 0; q < kQuads; ++q) {                             \
      uint x = quad_line(true, q), kk = quad_k(true, q);                       \
      [[unroll]] for (uint c = 0; c < 4; ++c) {                                \
        panel[kk + c][slot(kk, x)][x & 3u] = next[q][c];                       \
      }                                                                        \
    }                                                                          \
  } else {                                                                     \
    [[unroll]] for (uint q = 0; q < kQuads; ++q) {                             \
      uint x = quad_line(false, q), kk = quad_k(false, q);                     \
      panel[kk][slot(kk, x)] = next[q];                                        \
    }                                                                          \
  }

void multiply_step(uint which, uint kk, uint row, uint column) {
  vec4 l[2] = {left[which][kk][slot(kk, row)], left[which][kk][slot(kk, row + 32)]};
  vec4 r0 = right[which][kk][slot(kk, column)], r1 = right[which][kk][slot(kk, column + 16)];
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    vec4 x = vec4(l[i / 4][i % 4]);
    acc[2 * i] = fma(x, r0, acc[2 * i]);
    acc[2 * i + 1] = fma(x, r1, acc[2 * i + 1]);
  }
}

// The whole slices of packed operands; returns how many. `which` is the buffer to use next.
uint multiply_packed(inout Operand a, inout Operand b, uint k, inout uint which) {
  uint slices = a.packed && b.packed ? k / kSlice : 0;
  uint row = first_row(), column = first_column();
  uint a_step = kSlice / 4 * a.k_step, b_step = kSlice / 4 * b.k_step;
  vec4 next_a[kQuads], next_b[kQuads];
  if (slices > 0) {
    OA_FETCH(next_a, a, slices > 1 ? a_step : 0)
    OA_FETCH(next_b, b, slices > 1 ? b_step : 0)
  }
  for (uint s = 0; s < slices; ++s) {
    OA_PUT(left[which], a, next_a)
    OA_PUT(right[which], b, next_b)
    barrier();
    // The last slice is read again at the end, instead of a branch.
    bool more = s + 2 < slices;
    OA_FETCH(next_a, a, more ? a_step : 0)
    OA_FETCH(next_b, b, more ? b_step : 0)
    [[unroll]] for (uint kk = 0; kk < kSlice; ++kk) multiply_step(which, kk, row, column);
    which = 1 - which;
  }
  return slices;
}

void multiply_slowly(Operand a, Operand b, uint k0, uint k, uint which) {
  uint row = first_row(), column = first_column();
  vec4 next_a[kQuads], next_b[kQuads];
  for (; k0 < k; k0 += kSlice) {
    [[unroll]] for (uint q = 0; q < kQuads; ++q) {
      next_a[q] = fetch_slowly(a, q, k0, k);
      next_b[q] = fetch_slowly(b, q, k0, k);
    }
    OA_PUT(left[which], a, next_a)
    OA_PUT(right[which], b, next_b)
    barrier();
    [[dont_unroll]] for (uint kk = 0; kk < kSlice; ++kk) multiply_step(which, kk, row, column);
    which = 1 - which;
  }
}

void multiply_tile(Part part) {
  uint k = part.k, which = 0;
  F32In a_data = args.a, b_data = args.b;
  Operand a = operand(a_data, part.a_base, part.row0, part.row_end, args.a_row, args.a_col);
  Operand b = operand(b_data, part.b_base, part.column0, args.n, args.b_col, args.b_row);
  uint column = part.column0 + first_column();
  [[unroll]] for (uint t = 0; t < 16; ++t) {
    [[unroll]] for (uint c = 0; c < 4; ++c) {
      acc[t][c] = first_term(part, column + t % 2 * 16 + c);
    }
  }
  uint slices = multiply_packed(a, b, k, which);
  multiply_slowly(a, b, slices * kSlice, k, which);
}

// Block t of this invocation's results; a chain of selections, because registers have no index.
vec4 pick(uint t) {
  vec4 value = acc[0];
  [[unroll]] for (uint s = 1; s < 16; ++s) value = t == s ? acc[s] : value;
  return value;
}

void store_tile(Part part) {
  uint n = args.n;
  oa_epilogue_prepare();
  [[dont_unroll]] for (uint t = 0; t < 16; ++t) {
    uint row = part.row0 + first_row() + t / 8 * 32 + t / 2 % 4;
    uint column = part.column0 + first_column() + t % 2 * 16;
    if (row < part.row_end && column < n) {
      oa_epilogue_store4(part.first_result + row * n + column, pick(t));
    }
  }
}

void main() {
  OA_FOR_EACH_ROW(tile, part_count(kTile, kTile)) {
    Part part = part_of(tile, kTile, kTile);
#ifdef OA_GROUPED
    if (part.row0 >= part.row_end) continue;
#endif
    multiply_tile(part);
    store_tile(part);
    barrier();
  }
}
