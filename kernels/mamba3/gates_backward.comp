// gates_backward: the gradients of adt, dt and trap, and each head's share of the angle's:
//   dadt_t = sum over s < t of crossing[t, s] (pairs of tokens with t's decay between them)
//            + sum over t' >= t of from_entry + sum over s < t of toexit gate * to_exit
//            + (decay of the chunk) * (entry . dexit),
//   dscale_s = kept[s] + to_exit[s] * (decay from s to the exit), dgamma_t = own[t] + dscale_t,
//   ddt = dgamma s + dscale_{t-1} (1 - s) + sum_k Theta angle, s = sig(trap),
//   dtrap = dt (dgamma - dscale_{t-1}) s (1 - s), dangle of this head = Theta dt.
// Shapes:   dt, trap, dadt, ddt, dtrap [batch, length, heads], angle [batch, length, angles],
//           Theta [batch * heads, length, angles], dangle [batch, length, heads, angles], crossing
//           [batch * heads, slots, chunk], own, kept, from_entry, to_exit [batch * heads, slots],
//           across [batch * heads, chunks], gates [batch * heads, slots, kGates].
// Cost:     about 3 * chunk reads a token and head; one of them an invocation.
// Numerics: F32; sums of terms that do not cancel, in a fixed order. dadt of token 0 is exactly 0.
#version 460
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint has_entry = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In dt;
  F32In trap;
  F32In angle;
  F32In theta_sums;
  F32In gates;
  F32In crossing;
  F32In own;
  F32In kept;
  F32In from_entry;
  F32In to_exit;
  F32In across;
  F32Out dadt;
  F32Out ddt;
  F32Out dtrap;
  F32Out dangle;
  uint batch;
  uint tokens;
  uint heads;
  uint angles;
  uint chunk;
  uint chunks;
};
OA_PUSH(Args);

// Gradient of scale of the token in `slot`, whose chunk ends with slot `last`.
float scale_gradient(uint slot, uint last) {
  float sum = args.kept.v[slot];
  if (has_entry != 0u) {
    sum = fma(decay_between(F32In(args.gates), last, slot), args.to_exit.v[slot], sum);
  }
  return sum;
}

float decay_gradient(uint slot, uint first, uint count, uint chunk) {
  float sum = 0.0;
  for (uint j = first; j < slot; ++j) {
    sum += args.crossing.v[slot * chunk + (j - first)];
    if (has_entry != 0u) {
      sum = fma(args.gates.v[j * kGates + kToExit], args.to_exit.v[j], sum);
    }
  }
  if (has_entry != 0u) {
    for (uint j = slot; j < first + count; ++j) sum += args.from_entry.v[j];
    sum = fma(args.gates.v[(first + chunk - 1) * kGates + kFromEntry],
              args.across.v[first / chunk], sum);
  }
  return sum;
}

float angle_part(uint theta_row, uint token, uint row, float dt) {
  uint angles = args.angles;
  float sum = 0.0;
  for (uint k = 0; k < angles; ++k) {
    float theta = args.theta_sums.v[theta_row * angles + k];
    sum = fma(theta, args.angle.v[token * angles + k], sum);
    args.dangle.v[row * angles + k] = theta * dt;
  }
  return sum;
}

void main() {
  uint length = args.tokens, heads = args.heads, chunk = args.chunk, chunks = args.chunks;
  OA_FOR_EACH(i, args.batch * heads * length) {
    uint t = i % length, bh = i / length, head = bh % heads;
    uint token = bh / heads * length + t, row = token * heads + head;
    uint slot = bh * chunks * chunk + t, first = slot - t % chunk, last = first + chunk - 1;
    uint count = min(chunk, length - t / chunk * chunk);
    args.dadt.v[row] = decay_gradient(slot, first, count, chunk);
    float dt = args.dt.v[row], trap = args.trap.v[row];
    float open = oa_sigmoid(trap), closed = oa_sigmoid(-trap);
    float own = args.own.v[slot] + scale_gradient(slot, last), before = 0.0;
    if (t > 0u) before = scale_gradient(slot - 1, t % chunk == 0u ? slot - 1 : last);
    float part = angle_part(i, token, row, dt);
    args.ddt.v[row] = own * open + before * closed + part;
    args.dtrap.v[row] = dt * (own - before) * open * closed;
  }
}
