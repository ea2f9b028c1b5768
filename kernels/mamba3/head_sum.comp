// head_sum: y[t, r, g, n] = sum over the heads h of group g of x[t, h, r, n], h ascending.
// Shapes:   x [tokens, heads, ranks, width], y [tokens, ranks, groups, width].
// Cost:     reads 4 bytes a term; a result an invocation.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32Out y;
  uint tokens;
  uint heads;
  uint ranks;
  uint groups;
  uint width;
};
OA_PUSH(Args);

void main() {
  uint heads = args.heads, ranks = args.ranks, groups = args.groups, width = args.width;
  uint members = heads / groups;
  F32In x = args.x;
  OA_FOR_EACH(i, args.tokens * ranks * groups * width) {
    uint n = i % width, g = i / width % groups, r = i / width / groups % ranks;
    uint token = i / width / groups / ranks;
    float sum = 0.0;
    for (uint h = g * members; h < (g + 1) * members; ++h) {
      sum += x.v[((token * heads + h) * ranks + r) * width + n];
    }
    args.y.v[i] = sum;
  }
}
