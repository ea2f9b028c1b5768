// softmax: y[o, :, i] = exp(z) / sum exp(z), z = x[o, :, i] - max x[o, :, i];
//   with logarithm 1, log_softmax: y = z - ln(sum exp(z)). x is what the prologue makes; behind y
//   comes the epilogue.
//   A column of nothing but -inf yields zeros (log_softmax: -inf), not NaN.
// Shapes:   x, y [outer, extent, inner].
// Cost:     reads 4 bytes an element (8 where a column does not fit into the registers of its
//           lanes: blocks 0), writes 4; 25 flops an element.
// Numerics: F32; error below 1e-6 of the largest probability for extents up to 2^20.
// Source:   Milakov & Gimelshein 2018 for the one-pass maximum and sum of long columns.
#version 460
#include "common/epilogue.glsl"
#include "common/prologue.glsl"
#include "reduce/columns.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 2) const uint blocks = 0;  // per column when it is held in registers, 1 to 4
layout(constant_id = 3) const uint logarithm = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  uint outer;
  uint extent;
  uint inner;
  OA_PROLOGUE_ARGUMENTS
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_PROLOGUE_CODE
OA_EPILOGUE_CODE
#include "reduce/column_fusion.glsl"

float sum4(vec4 v) { return (v.x + v.y) + (v.z + v.w); }
float max4(vec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

// What is subtracted: 0 for a column of -inf, where -inf - -inf would be NaN.
float shift_of(float largest) { return largest == -oa_infinity() ? 0.0 : largest; }

vec4 load(uint base, uint count, uint inner, uint k, bool last) {
  return column_operand(base, count, inner, k, -oa_infinity(), last);
}

// 1 / total or ln(total), applied by finish(); total 0 means that every exp(z) is 0.
float normaliser_of(float total) {
  if (total == 0.0) return 0.0;
  return logarithm != 0u ? oa_log(total) : 1.0 / total;
}

vec4 finish(vec4 z, vec4 e, float normaliser) {
  return logarithm != 0u ? z - normaliser : e * normaliser;
}

// The column in registers, as its results.
void softmax_in_registers(uint base, uint count, uint inner, out vec4 y[4]) {
  vec4 z[4], e[4];
  float largest = -oa_infinity();
  uint used = column_blocks(count);
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    z[k] = vec4(-oa_infinity());
    if (k < blocks && k < used) z[k] = load(base, count, inner, k, true);
    largest = max(largest, max4(z[k]));
  }
  float shift = shift_of(column_max(largest));
  float sum = 0.0;
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    if (k < blocks) {
      z[k] -= shift;
      e[k] = oa_exp(z[k]);
      sum += sum4(e[k]);
    }
  }
  float normaliser = normaliser_of(column_sum(sum));
  [[unroll]] for (uint k = 0; k < 4; ++k) y[k] = finish(z[k], e[k], normaliser);
}

// What long columns need for their second pass: shift and normaliser.
vec2 softmax_statistics(uint base, uint count, uint inner) {
  float largest = -oa_infinity();
  float sum = 0.0;  // of exp(x - shift_of(largest)) so far
  uint used = column_blocks(count);
  for (uint k = 0; k < used; ++k) {
    vec4 v = load(base, count, inner, k, false);
    float larger = max(largest, max4(v));
    float shift = shift_of(larger);
    sum = sum * oa_exp(largest - shift) + sum4(oa_exp(v - shift));
    largest = larger;
  }
  float shift = shift_of(column_max(largest));
  return vec2(shift, normaliser_of(column_sum(sum * oa_exp(largest - shift))));
}

vec4 softmax_of(vec4 z, float normaliser) {
  vec4 e = vec4(0.0);
  if (logarithm == 0u) e = oa_exp(z);
  return finish(z, e, normaliser);
}

// Results in registers go to memory at once, or, where there is an epilogue, in a loop around the
// one copy of it.
void softmax_column(uint base, uint count, uint inner) {
  uint used = column_blocks(count);
  vec4 y[4];
  vec2 statistics = vec2(0.0);
  if (blocks > 0u) {
    softmax_in_registers(base, count, inner, y);
  } else {
    statistics = softmax_statistics(base, count, inner);
  }
  if (blocks > 0u && oa_epilogue_is_trivial()) {
    [[unroll]] for (uint k = 0; k < 4; ++k) {
      if (k < blocks && k < used) column_plain_store(base, count, inner, k, y[k]);
    }
    return;
  }
  [[dont_unroll]] for (uint k = 0; k < used; ++k) {
    vec4 value;
    if (blocks > 0u) {
      value = y[0];
      [[unroll]] for (uint j = 1; j < 4; ++j) value = j == k ? y[j] : value;
    } else {
      value = softmax_of(load(base, count, inner, k, true) - statistics.x, statistics.y);
    }
    column_result(base, count, inner, k, value);
  }
}

void main() {
  oa_prologue_prepare();
  oa_epilogue_prepare();
  uint extent = args.extent, inner = args.inner;
  uint columns = oa_mul_saturated(column_outer(args.outer, extent, inner), inner);
  OA_FOR_EACH_ROW(tile, column_tiles(columns)) {
    uint q = tile * max(width, 1u) + column_slot();
    uint count = q < columns ? extent : 0u;
    uint base = column_base(q, extent, inner);
    softmax_column(base, count, inner);
  }
}
