// count_matches: y[c] = number of r in [c, c + 1) * chunk with predicted[r] == labels[r].
//   Without labels (label_type 2) the sum of predicted[r], which adds the counts of several chunks.
// Shapes:   predicted 32-bit [rows], labels U8 or 32-bit [rows], y U32 [ceil(rows / chunk)].
// Cost:     reads 4 to 8 bytes a row, writes 4 a chunk.
// Numerics: exact.
#version 460
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint label_type = 0;
const uint kLabelsU8 = 0, kLabels32 = 1;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In predicted;
  U32In labels;
  U32Out y;
  uint rows;
  uint chunk;
};
OA_PUSH(Args);

uint value_of(U32In predicted, U32In labels, uint r) {
  uint value = predicted.v[r];
  if (label_type == kLabelsU8) return uint(value == oa_load_u8(U8In(labels), r));
  if (label_type == kLabels32) return uint(value == labels.v[r]);
  return value;
}

void main() {
  U32In predicted = args.predicted;
  U32In labels = args.labels;
  U32Out y = args.y;
  uint rows = args.rows, chunk = max(args.chunk, 1u);
  uint chunks = rows / chunk + uint(rows % chunk != 0u);
  OA_FOR_EACH_ROW(c, chunks) {
    uint begin = c * chunk;
    uint count = 0;
    OA_FOR_EACH_COLUMN(r, min(chunk, rows - begin)) {
      count += value_of(predicted, labels, begin + r);
    }
    uint total = workgroup_sum(count);
    if (gl_LocalInvocationID.x == 0u) y.v[c] = total;
  }
}
