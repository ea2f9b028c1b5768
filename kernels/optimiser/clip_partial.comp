// clip_partial: partials[b] = sum of g^2 over block b of many gradients.
// Shapes:   g [count] in each record, cut into blocks of block_elements (a multiple of 4);
//           partials [total_blocks].
// Cost:     reads 4 bytes per element, once.
// Numerics: a sum in an order fixed by shapes and variant.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

struct Record {
  F32In g;
  uint first_block;
  uint blocks;
  uint count;
};

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32Out partials;
  uint record_count;
  uint total_blocks;
  uint block_elements;
  Record records[];
};
OA_PUSH(Args);

#include "optimiser/multi_tensor.glsl"

vec4 square(vec4 x) { return x * x; }

void main() {
  OA_FOR_EACH_BLOCK(b) {
    Record record = args.records[find_record(b)];
    uint first = (b - record.first_block) * args.block_elements;
    uint end = block_end(first, args.block_elements, record.count);
    vec4 sum = vec4(0.0);
    OA_FOR_EACH_GROUP(i, first, end) sum += square(load4(record.g, i, true));
    OA_FOR_EACH_SINGLE(i, first, end) sum += square(load4(record.g, i, false));
    float total = workgroup_sum((sum.x + sum.y) + (sum.z + sum.w));
    if (gl_LocalInvocationID.x == 0) args.partials.v[b] = total;
  }
}
