// weights: y[(t, r), (s, r')] = x * (decay from s to t * scale_s for s < t, gamma_t for s == t,
//   0 for s > t), the causal weights of a chunk on the products of its readouts and keys.
// Shapes:   x, y [chunks_all, chunk * ranks, chunk * ranks] (y may be x), gates
//           [chunks_all * chunk, kGates].
// Cost:     8 bytes and one exponential an element.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In gates;
  F32Out y;
  uint chunks_all;
  uint chunk;
  uint ranks;
};
OA_PUSH(Args);

void main() {
  uint chunk = args.chunk, ranks = args.ranks, side = chunk * ranks;
  F32In x = args.x, gates = args.gates;
  F32Out y = args.y;
  OA_FOR_EACH(i, args.chunks_all * side * side) {
    uint column = i % side, row = i / side;
    uint c = row / side, t = c * chunk + row % side / ranks, s = c * chunk + column / ranks;
    float value = x.v[i], weight = gates.v[t * kGates + kOwn];
    if (s < t) weight = decay_between(gates, t, s) * gates.v[s * kGates + kScale];
    y.v[i] = s <= t ? value * weight : 0.0;
  }
}
