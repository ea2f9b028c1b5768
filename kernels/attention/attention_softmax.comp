// attention_softmax: y[r, :] = softmax over the visible c of z[r, c] = scale * scores[r, c]
//   (+ mask[r, c]); with `causal` the visible columns are c <= r % queries, all others give 0. A
//   row whose visible z are all -inf gives zeros. lse[r] = log sum exp z, +inf for such a row.
// Shapes:   scores, mask, y [rows, columns], lse [rows].
// Cost:     reads scores twice (the second time from cache), writes 4 * rows * columns bytes.
// Numerics: as softmax: 1e-5 relative, 2e-6 * sqrt(columns) absolute. Invisible entries are exact.
#version 460
#include "common/base.glsl"
#include "common/math.glsl"
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In scores;
  F32In mask;
  F32Out y;
  F32Out lse;
  uint rows;
  uint columns;
  uint queries;
  float scale;
};
OA_PUSH(Args);

layout(constant_id = 0) const uint masked = 0;
layout(constant_id = 1) const uint causal = 0;
layout(constant_id = 2) const uint want_lse = 0;

float logit(uint i) {
  float z = args.scores.v[i] * args.scale;
  return masked != 0 ? z + args.mask.v[i] : z;
}

void main() {
  uint columns = args.columns, queries = max(args.queries, 1u);
  OA_FOR_EACH_ROW(r, args.rows) {
    uint base = r * columns;
    uint visible = causal != 0 ? min(columns, r % queries + 1u) : columns;
    float m = -3.4028235e38;  // finite, so that -inf - m is no NaN
    float sum = 0.0;
    OA_FOR_EACH_COLUMN(c, visible) {
      float z = logit(base + c);
      float e = oa_exp(-abs(z - m));
      sum = z > m ? fma(sum, e, 1.0) : sum + e;
      m = max(m, z);
    }
    float largest = workgroup_max(m);
    float total = workgroup_sum(sum * oa_exp(m - largest));
    float inverse = total == 0.0 ? 0.0 : 1.0 / total;
    OA_FOR_EACH_COLUMN(c, columns) {
      args.y.v[base + c] = c < visible ? oa_exp(logit(base + c) - largest) * inverse : 0.0;
    }
    if (want_lse != 0u && gl_LocalInvocationID.x == 0u) {
      args.lse.v[r] = total == 0.0 ? oa_infinity() : largest + oa_log(total);
    }
  }
}
