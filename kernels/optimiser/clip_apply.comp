// clip_apply: norm = sqrt(sum of partials); g *= max_norm / norm where norm > max_norm.
//   A norm of +inf gives the factor 0, a NaN leaves the gradients alone.
// Shapes:   partials [total_blocks], norm [1], g [count] in each record, cut as in clip_partial.
// Cost:     reads and writes 4 bytes per element, nothing when the factor is 1; every workgroup
//           adds all partials in the same order, which the lowering keeps few.
// Numerics: 2e-6 relative on top of the sum of squares.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

struct Record {
  F32InOut g;
  uint first_block;
  uint blocks;
  uint count;
};

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In partials;
  F32Out norm;
  uint record_count;
  uint total_blocks;
  uint block_elements;
  float max_norm;
  Record records[];
};
OA_PUSH(Args);

#include "optimiser/multi_tensor.glsl"

float gradient_norm() {
  float sum = 0.0;
  OA_FOR_EACH_COLUMN(p, args.total_blocks) sum += args.partials.v[p];
  return sqrt(workgroup_sum(sum));
}

void scale(F32InOut g, uint i, bool whole, float factor) {
  store4(F32Out(g), i, whole, factor * load4(F32In(g), i, whole));
}

void main() {
  float norm = gradient_norm();
  bool clips = norm > args.max_norm;
  float factor = args.max_norm / norm;
  if (oa_group() == 0 && gl_LocalInvocationID.x == 0) args.norm.v[0] = norm;
  OA_FOR_EACH_BLOCK(b) {
    Record record = args.records[find_record(b)];
    uint first = (b - record.first_block) * args.block_elements;
    uint end = clips ? block_end(first, args.block_elements, record.count) : first;
    OA_FOR_EACH_GROUP(i, first, end) scale(record.g, i, true, factor);
    OA_FOR_EACH_SINGLE(i, first, end) scale(record.g, i, false, factor);
  }
}
