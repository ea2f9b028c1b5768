// pairs: the backward pass of weights.comp. With w the causal weights of a chunk, x = q k^T and
//   dx_weighted = dpre v^T (the gradient of w * x),
//   dx = w * dx_weighted, in place, and pair[t, s] = sum over ranks of x * dx_weighted, the
//   gradient of w[t, s], of which it stores
//   crossing[t, s] = sum over t' >= t of w[t', s] pair[t', s] for s < t: what a decay between s and
//     t would change,
//   own[t] = pair[t, t] and kept[s] = sum over t > s of (decay from s to t) * pair[t, s].
// Shapes:   x, dx [chunks_all, chunk * ranks, chunk * ranks], crossing [chunks_all, chunk, chunk],
//           own, kept [chunks_all * chunk], gates [chunks_all * chunk, kGates].
// Cost:     12 bytes an element of x; a column s of tokens an invocation.
// Numerics: F32, t' falling: no two sums cancel.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In gates;
  F32InOut dx;
  F32Out crossing;
  F32Out own;
  F32Out kept;
  uint chunks_all;
  uint chunk;
  uint ranks;
};
OA_PUSH(Args);

// Weighs the ranks x ranks block of tokens (t, s) that starts at `at` and returns its pair.
float weigh_block(F32In x, F32InOut dx, uint at, uint side, uint ranks, float weight) {
  float pair = 0.0;
  for (uint r = 0; r < ranks; ++r) {
    for (uint column = 0; column < ranks; ++column) {
      uint place = at + r * side + column;
      float gradient = dx.v[place];
      pair = fma(x.v[place], gradient, pair);
      dx.v[place] = weight * gradient;
    }
  }
  return pair;
}

void clear_block(F32InOut dx, uint at, uint side, uint ranks) {
  for (uint r = 0; r < ranks; ++r) {
    for (uint column = 0; column < ranks; ++column) dx.v[at + r * side + column] = 0.0;
  }
}

void main() {
  uint chunk = args.chunk, ranks = args.ranks, side = chunk * ranks;
  F32In x = args.x, gates = args.gates;
  F32InOut dx = args.dx;
  OA_FOR_EACH(i, args.chunks_all * chunk) {
    uint s = i % chunk, first = i - s;  // the chunk's first token
    float scale = gates.v[i * kGates + kScale], kept = 0.0, crossing = 0.0;
    for (uint j = 0; j < chunk; ++j) {
      uint t = chunk - 1 - j;
      uint at = (first + t) * ranks * side + s * ranks;
      if (t > s) {
        float decay = decay_between(gates, first + t, i);
        float pair = weigh_block(x, dx, at, side, ranks, decay * scale);
        kept = fma(decay, pair, kept);
        crossing = fma(decay * scale, pair, crossing);
        args.crossing.v[(first + t) * chunk + s] = crossing;
      } else if (t == s) {
        args.own.v[i] = weigh_block(x, dx, at, side, ranks, gates.v[i * kGates + kOwn]);
      } else {
        clear_block(dx, at, side, ranks);
      }
    }
    args.kept.v[i] = kept;
  }
}
