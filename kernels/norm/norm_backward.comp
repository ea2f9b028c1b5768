// norm_backward: with dm the gradient behind the affine step (g; 0 where a rectified y is not
//   positive; times silu(gate) when gated) and e = dm * weight, along the middle axis:
//   dx = rstd * (e - mean(e) - xhat * mean(e * xhat)), mean(e) only when centred,
//   dgate = g * (xhat * weight + bias) * silu'(gate),
//   weight_terms = dm * xhat, bias_terms = dm, to be summed over columns by another kernel,
//   means, their rests and rstds of the columns, for the same purpose.
// Shapes:   x, gate, y, g, dx, dgate, weight_terms, bias_terms [outer, extent, inner],
//           weight, bias [groups, extent], means, rests, rstds [outer, inner].
// Cost:     reads every operand from memory once, again from caches; 16 flops an element.
// Numerics: F32, sums over lanes in a fixed order; relative 1e-5.
#version 460
#include "norm/columns.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 6) const uint want_dx = 0;
layout(constant_id = 7) const uint want_dgate = 0;
layout(constant_id = 8) const uint want_weight_terms = 0;
layout(constant_id = 9) const uint want_bias_terms = 0;
layout(constant_id = 10) const uint want_statistics = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  U32In weight;
  U32In bias;
  U32In gate;
  U32In y;
  U32In g;
  F32Out dx;
  F32Out dgate;
  F32Out weight_terms;
  F32Out bias_terms;
  F32Out means;
  F32Out rests;
  F32Out rstds;
  uint outer;
  uint extent;
  uint inner;
  uint groups;
  float epsilon;
};
OA_PUSH(Args);

U32In x;

vec4 load_x(Column c, uint k, float absent, bool last) { return load(x, c, k, absent); }

// dm; 0 for absent elements.
vec4 affine_gradient(Column c, uint k) {
  vec4 g = load(U32In(args.g), c, k, 0.0);
  if (rectified != 0u) {
    g = mix(vec4(0.0), g, greaterThan(load(U32In(args.y), c, k, 0.0), vec4(0.0)));
  }
  return gated != 0u ? g * oa_silu(load(U32In(args.gate), c, k, 0.0)) : g;
}

vec4 normalised(Column c, uint k, Statistics s) {
  return normalise(load_x(c, k, s.mean, false), s);
}

void store(F32Out result, Column c, uint k, vec4 value) {
  column_store(result, c.base, c.count, c.inner, k, value);
}

void store_gate_gradient(Column c, uint k, vec4 xhat, vec4 weight) {
  vec4 m = xhat * weight;
  if (has_bias != 0u) m += load_weight(U32In(args.bias), c, k);
  vec4 slope = oa_silu_derivative(load(U32In(args.gate), c, k, 0.0));
  store(F32Out(args.dgate), c, k, load(U32In(args.g), c, k, 0.0) * m * slope);
}

void store_column(Column c, Statistics s, float mean_e, float mean_product) {
  uint used = column_blocks(c.count);
  for (uint k = 0; k < used; ++k) {
    vec4 xhat = normalised(c, k, s);
    vec4 dm = affine_gradient(c, k);
    vec4 weight = load_weight(U32In(args.weight), c, k);
    if (want_dx != 0u) {
      store(F32Out(args.dx), c, k, s.rstd * ((dm * weight - mean_e) - xhat * mean_product));
    }
    if (want_dgate != 0u) store_gate_gradient(c, k, xhat, weight);
    if (want_weight_terms != 0u) store(F32Out(args.weight_terms), c, k, dm * xhat);
    if (want_bias_terms != 0u) store(F32Out(args.bias_terms), c, k, dm);
  }
}

void main() {
  x = U32In(args.x);
  uint extent = args.extent, inner = args.inner;
  uint columns = oa_mul_saturated(args.outer, inner);
  OA_FOR_EACH_ROW(tile, column_tiles(columns)) {
    uint q = tile * max(width, 1u) + column_slot();
    Column c = make_column(q, columns, extent, inner, args.groups);
    Statistics s = column_statistics(c, extent, args.epsilon);
    float sum = 0.0, product = 0.0;
    if (want_dx != 0u) {
      uint used = column_blocks(c.count);
      for (uint k = 0; k < used; ++k) {
        vec4 e = affine_gradient(c, k) * load_weight(U32In(args.weight), c, k);
        if (centred != 0u) sum += sum4(e);
        product += sum4(e * normalised(c, k, s));
      }
      if (centred != 0u) sum = column_sum(sum);
      product = column_sum(product);
    }
    store_column(c, s, sum / float(extent), product / float(extent));
    if (want_statistics != 0u && column_lane() == 0u && q < columns) {
      args.means.v[q] = s.mean;
      args.rests.v[q] = s.rest;
      args.rstds.v[q] = s.rstd;
    }
  }
}
