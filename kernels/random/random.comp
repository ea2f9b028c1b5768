// random: fresh numbers in every replay; see philox.glsl. `replay` is the replay counter.
//   uniform:  y[4b + j] = first + u_j * (second - first), u the units of block b of stream 0
//   normal:   y[4b + j] = first + second * n_j, n by Box and Muller from block b of stream 1
// Shapes:   y [count], replay [1].
// Cost:     writes 4 * count bytes; about 30 integer operations an element.
// Numerics: units are exact; normals 1e-6 * (1 + |n|): the angle is reduced as an integer.
// Source:   Box & Muller 1958.
#version 460
#include "common/base.glsl"
#include "common/math.glsl"
#include "random/philox.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint normal = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In replay;
  F32Out y;
  uint count;
  uint seed_low;
  uint seed_high;
  float first;
  float second;
};
OA_PUSH(Args);

// (cos, sin) of turn / 2^24 of a full circle, turn < 2^24.
vec2 circle(uint turn) {
  uint quadrant = (turn + 0x200000u) >> 22;
  float angle = float(int(turn) - int(quadrant << 22)) * 3.7450702829238605e-7;  // 2 pi / 2^24
  float c = oa_cos(angle), s = oa_sin(angle);
  vec2 point = (quadrant & 1u) != 0u ? vec2(-s, c) : vec2(c, s);
  return (quadrant & 2u) != 0u ? -point : point;
}

vec2 normal_pair(uvec2 words) {
  float radius = sqrt(-2.0 * oa_log(float((words.x >> 8) + 1u) * kUnit24));
  return radius * circle(words.y >> 8);
}

void main() {
  F32Out y = args.y;
  uint count = args.count, replay = args.replay.v[0];
  uvec2 seed = uvec2(args.seed_low, args.seed_high);
  float first = args.first, second = args.second;
  uint blocks = count / 4u + uint(count % 4u != 0u);
  OA_FOR_EACH(b, blocks) {
    vec4 values;
    if (normal != 0u) {
      uvec4 words = random_block(b, kNormalStream, replay, seed);
      values = first + second * vec4(normal_pair(words.xy), normal_pair(words.zw));
    } else {
      values = first + random_units(b, replay, seed) * (second - first);
    }
    if (count - 4u * b >= 4u) {
      F32x4Out(y).v[b] = values;
    } else {
      [[unroll]] for (uint j = 0; j < 3; ++j) {
        if (j < count - 4u * b) y.v[4u * b + j] = values[j];
      }
    }
  }
}
