// attention_softmax_backward: dscores = scale * y * (g - sum of g * y along the row). With `again`
//   the probabilities are not read but computed, y = exp(scale * scores (+ mask) - lse), 0 for keys
//   behind the query when causal, and stored.
// Shapes:   g, y, scores, mask, dscores [rows, columns], lse [rows].
// Cost:     reads g and y (or scores) twice, the second time from cache; writes 4 * rows * columns
//           bytes, twice as many with `again`.
// Numerics: as a reduction over the columns. Entries with y = 0 give 0.
#version 460
#include "common/base.glsl"
#include "common/math.glsl"
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In y;
  F32In scores;
  F32In mask;
  F32In lse;
  F32Out probabilities;
  F32Out dscores;
  uint rows;
  uint columns;
  uint queries;
  float scale;
};
OA_PUSH(Args);

layout(constant_id = 0) const uint masked = 0;
layout(constant_id = 1) const uint causal = 0;
layout(constant_id = 2) const uint again = 0;

float probability(uint row, uint base, uint c, uint visible) {
  if (again == 0u) return args.y.v[base + c];
  if (c >= visible) return 0.0;
  float z = args.scores.v[base + c] * args.scale;
  if (masked != 0u) z += args.mask.v[base + c];
  return oa_exp(z - args.lse.v[row]);
}

void main() {
  uint columns = args.columns, queries = max(args.queries, 1u);
  OA_FOR_EACH_ROW(r, args.rows) {
    uint base = r * columns;
    uint visible = causal != 0u ? min(columns, r % queries + 1u) : columns;
    float dot = 0.0;
    OA_FOR_EACH_COLUMN(c, columns) {
      dot = fma(args.g.v[base + c], probability(r, base, c, visible), dot);
    }
    float total = workgroup_sum(dot);
    OA_FOR_EACH_COLUMN(c, columns) {
      float y = probability(r, base, c, visible);
      if (again != 0u) args.probabilities.v[base + c] = y;
      args.dscores.v[base + c] = args.scale * y * (args.g.v[base + c] - total);
    }
  }
}
