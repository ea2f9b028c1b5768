// project: v = x * mimo_x (x itself without projections), and v times its weight at the exit of its
//   chunk.
// Shapes:   x [batch, length, heads, depth], mimo_x [heads, ranks, depth],
//           gates [batch * heads, slots, kGates], v, v_exit [batch * heads, slots, ranks, depth].
// Cost:     reads 4 and writes 8 bytes a result element. Slots behind the end are zero.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint mimo = 0;
layout(constant_id = 1) const uint want_exit = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In mimo_x;
  F32In gates;
  F32Out v;
  F32Out v_exit;
  uint batch;
  uint tokens;
  uint heads;
  uint depth;
  uint ranks;
  uint slots;
};
OA_PUSH(Args);

void main() {
  uint length = args.tokens, heads = args.heads, depth = args.depth, ranks = args.ranks;
  uint slots = args.slots;
  OA_FOR_EACH(i, args.batch * heads * slots * depth) {
    uint p = i % depth, slot = i / depth, t = slot % slots, bh = slot / slots, head = bh % heads;
    uint token = bh / heads * length + min(t, length - 1);
    float x = t < length ? args.x.v[(token * heads + head) * depth + p] : 0.0;
    float weight = want_exit != 0u ? args.gates.v[slot * kGates + kToExit] : 0.0;
    for (uint r = 0; r < ranks; ++r) {
      float v = mimo != 0u ? x * args.mimo_x.v[(head * ranks + r) * depth + p] : x;
      uint at = (slot * ranks + r) * depth + p;
      args.v.v[at] = v;
      if (want_exit != 0u) args.v_exit.v[at] = v * weight;
    }
  }
}
