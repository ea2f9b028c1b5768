// softmax_backward: dx[o, :, i] = y * (g - sum(g * y));
//   with logarithm 1, log_softmax_backward: dx = g - exp(y) * sum(g), and zeros for a column of
//   nothing but -inf, like the softmax.
// Shapes:   g, y, dx [outer, extent, inner].
// Cost:     reads 8 bytes an element (16 where a column does not fit into the registers of its
//           lanes: blocks 0), writes 4; 4 flops an element, 20 with the logarithm.
// Numerics: F32, sums as in reduce.comp.
#version 460
#include "common/math.glsl"
#include "reduce/columns.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 2) const uint blocks = 0;  // per column when it is held in registers, 1 to 4
layout(constant_id = 3) const uint logarithm = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In g;
  U32In y;
  F32Out dx;
  uint outer;
  uint extent;
  uint inner;
};
OA_PUSH(Args);

float sum4(vec4 v) { return (v.x + v.y) + (v.z + v.w); }
float max4(vec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

uint absent_y() { return logarithm != 0u ? kNegativeInfinity : 0u; }

vec4 term(vec4 g, vec4 y) { return logarithm != 0u ? g : g * y; }

vec4 gradient(vec4 g, vec4 y, float sum, bool dead) {
  if (logarithm == 0u) return y * (g - sum);
  return dead ? vec4(0.0) : g - oa_exp(y) * sum;
}

// Whether all of the column is -inf; `largest` is this lane's maximum of y.
bool is_dead(float largest) {
  if (logarithm == 0u) return false;
  return column_max(largest) == -oa_infinity();
}

struct Column {
  U32In g;
  U32In y;
  F32Out dx;
  uint base;
  uint count;
  uint inner;
};

vec4 load_g(Column c, uint k) {
  return uintBitsToFloat(column_load(c.g, c.base, c.count, c.inner, k, 0u));
}
vec4 load_y(Column c, uint k) {
  return uintBitsToFloat(column_load(c.y, c.base, c.count, c.inner, k, absent_y()));
}

void backward_in_registers(Column c) {
  vec4 g[4], y[4];
  float sum = 0.0;
  float largest = -oa_infinity();
  uint used = column_blocks(c.count);
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    if (k < blocks && k < used) {
      g[k] = load_g(c, k);
      y[k] = load_y(c, k);
      sum += sum4(term(g[k], y[k]));
      largest = max(largest, max4(y[k]));
    }
  }
  sum = column_sum(sum);
  bool dead = is_dead(largest);
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    if (k < blocks && k < used) {
      column_store(c.dx, c.base, c.count, c.inner, k, gradient(g[k], y[k], sum, dead));
    }
  }
}

void backward_in_two_passes(Column c) {
  float sum = 0.0;
  float largest = -oa_infinity();
  uint used = column_blocks(c.count);
  for (uint k = 0; k < used; ++k) {
    vec4 y = load_y(c, k);
    sum += sum4(term(load_g(c, k), y));
    largest = max(largest, max4(y));
  }
  sum = column_sum(sum);
  bool dead = is_dead(largest);
  for (uint k = 0; k < used; ++k) {
    vec4 dx = gradient(load_g(c, k), load_y(c, k), sum, dead);
    column_store(c.dx, c.base, c.count, c.inner, k, dx);
  }
}

void main() {
  uint extent = args.extent, inner = args.inner;
  uint columns = oa_mul_saturated(args.outer, inner);
  Column c = Column(args.g, args.y, args.dx, 0u, 0u, inner);
  OA_FOR_EACH_ROW(tile, column_tiles(columns)) {
    uint q = tile * max(width, 1u) + column_slot();
    c.count = q < columns ? extent : 0u;
    c.base = column_base(q, extent, inner);
    if (blocks > 0u) {
      backward_in_registers(c);
    } else {
      backward_in_two_passes(c);
    }
  }
}
