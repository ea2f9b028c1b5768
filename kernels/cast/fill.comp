// fill: y[i] = value.
// Shapes:   y [count].
// Cost:     writes 4 * count bytes.
// Numerics: exact.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32Out y;
  uint count;
  float value;
};
OA_PUSH(Args);

void main() {
  F32Out y = args.y;
  uint count = args.count;
  float value = args.value;
  OA_FOR_EACH(i, count) y.v[i] = value;
}
