// cross_entropy_mean: loss = sum of partial losses / V, 0 when V = 0.
//   V = sum of partial counts, or the host's `divisor` in the masked operator.
// Shapes:   losses, counts [partials]; loss, rows_counted [1].
// Cost:     reads 8 * partials bytes with one workgroup.
// Numerics: as a sum of `partials` terms, in a fixed order.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In losses;
  U32In counts;
  F32Out loss;
  U32Out rows_counted;
  uint partials;
  uint divisor;
};
OA_PUSH(Args);

layout(constant_id = 2) const uint masked = 0;

void main() {
  OA_FOR_EACH_ROW(once, 1u) {
    float sum = 0.0;
    uint count = 0;
    OA_FOR_EACH_COLUMN(p, args.partials) {
      sum += args.losses.v[p];
      count += args.counts.v[p];
    }
    sum = workgroup_sum(sum);
    count = masked != 0 ? args.divisor : workgroup_sum(count);
    if (gl_LocalInvocationID.x == 0) {
      args.loss.v[0] = count != 0 ? sum / float(count) : 0.0;
      if (masked == 0) args.rows_counted.v[0] = count;
    }
  }
}
