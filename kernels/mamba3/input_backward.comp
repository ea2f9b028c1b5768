// input_backward: dv_r = dv_own + to_exit * dv_exit + d * dpre, dx = sum_r dv_r * mimo_x, and the
//   terms dv_r * x of mimo_x.
// Shapes:   x, dx [batch, length, heads, depth], dv_*, dpre [batch * heads, slots, ranks, depth],
//           mimo_x [heads, ranks, depth], d [heads],
//           mimo_x_terms [batch, length, heads, ranks, depth].
// Cost:     reads 16 and writes 8 bytes an element of v.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint mimo = 0;
layout(constant_id = 1) const uint has_d = 0;
layout(constant_id = 2) const uint has_entry = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In mimo_x;
  F32In d;
  F32In gates;
  F32In dpre;
  F32In dv_own;
  F32In dv_exit;
  F32Out dx;
  F32Out mimo_x_terms;
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
  OA_FOR_EACH(i, args.batch * length * heads * depth) {
    uint p = i % depth, row = i / depth, head = row % heads, token = row / heads;
    uint slot = (token / length * heads + head) * args.slots + token % length;
    float weight = has_entry != 0u ? args.gates.v[slot * kGates + kToExit] : 0.0;
    float skip = has_d != 0u ? args.d.v[head] : 0.0, dx = 0.0;
    for (uint r = 0; r < ranks; ++r) {
      uint at = (slot * ranks + r) * depth + p;
      float dv = args.dv_own.v[at];
      if (has_entry != 0u) dv = fma(weight, args.dv_exit.v[at], dv);
      if (has_d != 0u) dv = fma(skip, args.dpre.v[at], dv);
      if (mimo != 0u) {
        args.mimo_x_terms.v[(row * ranks + r) * depth + p] = dv * args.x.v[i];
        dv *= args.mimo_x.v[(head * ranks + r) * depth + p];
      }
      dx += dv;
    }
    args.dx.v[i] = dx;
  }
}
