// columns.glsl: what the forward and backward kernels of normalisations along one axis share.
// x is [outer, extent, inner]; each column of `extent` elements (reduce/columns.glsl) has a mean
// (0 unless centred) and rstd = 1 / sqrt(mean((x - mean)^2) + epsilon).
#ifndef OA_NORM_COLUMNS_GLSL_
#define OA_NORM_COLUMNS_GLSL_

#include "common/math.glsl"
#include "reduce/columns.glsl"

layout(constant_id = 2) const uint centred = 0;
layout(constant_id = 3) const uint has_bias = 0;
layout(constant_id = 4) const uint gated = 0;
layout(constant_id = 5) const uint rectified = 0;

float sum4(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

// Where a column lies, and where its weights do.
struct Column {
  uint base;
  uint weights;
  uint count;  // 0 for the columns behind the last one
  uint inner;
};

// Column q of the value; `groups` sets of weights repeat over the columns.
Column make_column(uint q, uint columns, uint extent, uint inner, uint groups) {
  return Column(column_base(q, extent, inner), q % max(groups, 1u) * extent,
                q < columns ? extent : 0u, inner);
}

// Callers pass U32In(args.x): a member of the argument block is readonly, a copy of it is not.
vec4 load(U32In x, Column c, uint k, float absent) {
  return uintBitsToFloat(column_load(x, c.base, c.count, c.inner, k, floatBitsToUint(absent)));
}

vec4 load_weight(U32In weight, Column c, uint k) {
  return uintBitsToFloat(column_load(weight, c.weights, c.count, 1u, k, 0u));
}

// Block k of x, `absent` behind the end: each kernel defines it. `last`: not read again.
vec4 load_x(Column c, uint k, float absent, bool last);

struct Statistics {
  float mean;
  float rest;  // of the mean: what `mean` lost to rounding
  float rstd;
};

// (x - mean) * rstd. The first difference is exact near the mean, so that a large mean costs no
// accuracy.
vec4 normalise(vec4 x, Statistics s) {
  precise vec4 centred_x = (x - s.mean) - s.rest;
  return centred_x * s.rstd;
}

// The variance is that of centred values: x^2 - mean^2 would cancel. Columns are short, so their
// second reading comes from a cache.
Statistics column_statistics(Column c, uint extent, float epsilon) {
  uint used = column_blocks(c.count);
  float mean = 0.0, rest = 0.0;
  if (centred != 0u) {
    for (uint k = 0; k < used; ++k) mean += sum4(load_x(c, k, 0.0, false));
    mean = column_sum(mean) / float(extent);
  }
  float squares = 0.0;
  for (uint k = 0; k < used; ++k) {
    vec4 d = load_x(c, k, mean, false) - mean;  // absent elements add nothing
    if (centred != 0u) rest += sum4(d);
    squares += sum4(d * d);
  }
  float variance = column_sum(squares) / float(extent);
  if (centred != 0u) {
    rest = column_sum(rest) / float(extent);
    variance -= rest * rest;
    if (variance < 0.0) variance = 0.0;
  }
  return Statistics(mean, rest, inversesqrt(variance + epsilon));
}

#endif  // OA_NORM_COLUMNS_GLSL_
