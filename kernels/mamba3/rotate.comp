// rotate: q = rot(c + c_bias, theta) and k = rot(b + b_bias, theta) for every head and rank, pairs
//   (2j, 2j + 1) turned by theta_j for j < angles, the rest passed through.
// Shapes:   c, b [batch, length, ranks * groups, width], biases [heads, ranks, width],
//           theta [batch * heads, length, angles], q, k [batch * heads, slots, ranks, width].
// Cost:     reads 8 and writes 8 bytes an element; one sine and cosine for all ranks of a pair.
// Numerics: F32, relative 2e-6. Slots behind the end are zero.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In c;
  F32In b;
  F32In c_bias;
  F32In b_bias;
  F32In theta;
  F32Out q;
  F32Out k;
  uint batch;
  uint tokens;
  uint heads;
  uint groups;
  uint width;
  uint angles;
  uint ranks;
  uint slots;
};
OA_PUSH(Args);

vec2 biased(F32In x, uint at, F32In bias, uint bias_at, bool whole) {
  float first = x.v[at] + bias.v[bias_at];
  return vec2(first, whole ? x.v[at + 1] + bias.v[bias_at + 1] : 0.0);
}

void store(F32Out y, uint at, vec2 value, bool whole) {
  y.v[at] = value.x;
  if (whole) y.v[at + 1] = value.y;
}

void main() {
  uint length = args.tokens, heads = args.heads, width = args.width, ranks = args.ranks;
  uint slots = args.slots, angles = args.angles, groups = args.groups;
  uint pairs = (width + 1) / 2;
  OA_FOR_EACH(i, args.batch * heads * slots * pairs) {
    uint j = i % pairs, slot = i / pairs, t = slot % slots, bh = slot / slots;
    uint head = bh % heads, token = bh / heads * length + min(t, length - 1);
    bool whole = 2 * j + 1 < width, inside = t < length;
    float cosine = 1.0, sine = 0.0;
    if (j < angles) {
      float theta = args.theta.v[(bh * length + min(t, length - 1)) * angles + j];
      cosine = oa_cos(theta);
      sine = oa_sin(theta);
    }
    for (uint r = 0; r < ranks; ++r) {
      uint from = ((token * ranks + r) * groups + head / (heads / groups)) * width + 2 * j;
      uint bias_at = (head * ranks + r) * width + 2 * j, to = (slot * ranks + r) * width + 2 * j;
      vec2 q = biased(F32In(args.c), from, F32In(args.c_bias), bias_at, whole);
      vec2 k = biased(F32In(args.b), from, F32In(args.b_bias), bias_at, whole);
      store(F32Out(args.q), to, inside ? rotate(q, cosine, sine) : vec2(0.0), whole);
      store(F32Out(args.k), to, inside ? rotate(k, cosine, sine) : vec2(0.0), whole);
    }
  }
}
