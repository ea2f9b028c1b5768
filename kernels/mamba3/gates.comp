// gates: the weights of every token in the chunked scan (see mamba3.glsl), from
//   gamma_t = dt_t sig(trap_t), late_t = dt_t sig(-trap_t), scale_t = gamma_t + late_{t+1}.
// Shapes:   adt, dt, trap [batch, length, heads], gates [batch * heads, slots, kGates].
// Cost:     one invocation a chunk and head; reads 20, writes 24 bytes a token.
// Numerics: F32; log decays are compensated sums. Slots behind the end weigh nothing.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In adt;
  F32In dt;
  F32In trap;
  F32Out gates;
  uint batch;
  uint tokens;
  uint heads;
  uint chunk;
  uint chunks;
};
OA_PUSH(Args);

// Decays below e^-1000 are zero either way; the bound keeps differences of infinities away.
float log_decay(F32In adt, uint at, bool inside) {
  float a = adt.v[at];
  return inside ? (a < -1000.0 ? -1000.0 : a) : 0.0;
}

void main() {
  uint length = args.tokens, heads = args.heads, chunk = args.chunk, chunks = args.chunks;
  F32In adt = args.adt, dt = args.dt, trap = args.trap;
  F32Out gates = args.gates;
  OA_FOR_EACH(i, args.batch * heads * chunks) {
    uint bh = i / chunks, first = i % chunks * chunk;
    uint token0 = bh / heads * length, head = bh % heads;
    float end = 0.0, end_low = 0.0;
    for (uint j = 0; j < chunk; ++j) {
      uint at = (token0 + min(first + j, length - 1)) * heads + head;
      add_compensated(end, end_low, log_decay(adt, at, first + j < length));
    }
    float sum = 0.0, low = 0.0;
    for (uint j = 0; j < chunk; ++j) {
      uint t = first + j;
      bool inside = t < length;
      uint at = (token0 + min(t, length - 1)) * heads + head;
      uint next = (token0 + min(t + 1, length - 1)) * heads + head;
      add_compensated(sum, low, log_decay(adt, at, inside));
      float own = inside ? dt.v[at] * oa_sigmoid(trap.v[at]) : 0.0;
      float late = t + 1 < length ? dt.v[next] * oa_sigmoid(-trap.v[next]) : 0.0;
      uint out_at = (bh * chunks * chunk + t) * kGates;
      gates.v[out_at + kLogDecay] = sum;
      gates.v[out_at + kLogDecayLow] = low;
      gates.v[out_at + kOwn] = own;
      gates.v[out_at + kScale] = own + late;
      gates.v[out_at + kFromEntry] = oa_exp(sum + low);
      gates.v[out_at + kToExit] = (own + late) * oa_exp((end - sum) + (end_low - low));
    }
  }
}
