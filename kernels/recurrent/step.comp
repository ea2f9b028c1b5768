// recurrent_step: one step of a recurrence, projection included, over the whole device:
//   states[b, t] = cell(gates_i[b, t], weight_hh @ h + bias, h), h = states[b, t-1], or 0 at t = 0.
// Shapes:   gates_i [batch, steps, gates * hidden], weight [hidden, gates * hidden] (weight_hh
//           transposed), bias [gates * hidden], before, states [batch, steps, hidden], the same
//           bytes. With quads hidden is a multiple of 4.
// Cost:     2 * batch * gates * hidden^2 flops; reads the weight batch / 16 times, from caches.
// Numerics: F32; the terms of a projection in eight interleaved parts, each in ascending order.
// Design:   step.glsl.
#version 460
#include "recurrent/step.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 2) const uint has_bias = 0;
layout(constant_id = 3) const uint has_before = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In gates_i;
  F32In weight;
  F32In bias;
  F32In before;
  F32Out states;
  uint batch;
  uint steps;
  uint hidden;
  uint step;
};
OA_PUSH(Args);

F32In weight, before;
uint hidden;
uint state_at[kRows];  // where the states of this lane's batch elements start
float acc[3][kRows][kColumns];

void add_terms(uint k) {
  vec4 h[kRows];
  [[unroll]] for (uint i = 0; i < kRows; ++i) h[i] = load4(before, state_at[i], k, hidden);
  [[unroll]] for (uint t = 0; t < 4; ++t) {
    if (quads != 0u || k + t < hidden) {
      OA_FOR_EACH_GATE(g) {
        float w[kColumns] = load_units(weight, ((k + t) * gates + g) * hidden);
        [[unroll]] for (uint i = 0; i < kRows; ++i) {
          [[unroll]] for (uint c = 0; c < kColumns; ++c) {
            acc[g][i][c] = fma(h[i][t], w[c], acc[g][i][c]);
          }
        }
      }
    }
  }
}

void project() {
  const uint stride = 4 * kGroups;
  uint k = 4 * lane_group();
  for (; k + (OA_UNROLL - 1) * stride < hidden; k += OA_UNROLL * stride) {
    [[unroll]] for (uint part = 0; part < OA_UNROLL; ++part) add_terms(k + part * stride);
  }
  [[dont_unroll]] for (; k < hidden; k += stride) add_terms(k);
}

void main() {
  F32In gates_i = args.gates_i, bias = args.bias;
  F32Out states = args.states;
  weight = args.weight;
  before = args.before;
  hidden = args.hidden;
  uint batch = args.batch, steps = args.steps, step = min(args.step, steps - 1u);
  uint width = gates * hidden, id = gl_LocalInvocationID.x;
  uint tiles_u = (hidden + kUnits - 1u) / kUnits;
  uint tiles = tiles_u * ((batch + kBatch - 1u) / kBatch);
  if (steps == 0u) tiles = 0u;
  OA_FOR_EACH_ROW(tile, tiles) {
    uint b0 = tile / tiles_u * kBatch, u0 = tile % tiles_u * kUnits;
    // Lanes outside the matrices repeat the last row or column and store nothing.
    uint b = min(b0 + id / kUnits, batch - 1u), u = min(u0 + id % kUnits, hidden - 1u);
    uint row = b * steps + step;
    vec3 inputs = load_gates(gates_i, row * width, u, hidden);
    vec3 p = vec3(0.0);
    float h = 0.0;
    if (has_before != 0u && step != 0u) {
      [[unroll]] for (uint i = 0; i < kRows; ++i) {
        uint element = min(b0 + lane_row() + i, batch - 1u);
        state_at[i] = (element * steps + step - 1u) * hidden;
        [[unroll]] for (uint j = 0; j < kColumns; ++j) {
          OA_FOR_EACH_GATE(g) acc[g][i][j] = 0.0;
        }
      }
      set_units(u0, hidden);
      project();
      OA_FOR_EACH_GATE(g) p[g] = join(acc[g]);
      h = before.v[(row - 1u) * hidden + u];
    }
    if (has_bias != 0u) {
      OA_FOR_EACH_GATE(g) p[g] += bias.v[g * hidden + u];
    }
    if (id < kTile && b0 + id / kUnits < batch && u0 + id % kUnits < hidden) {
      states.v[row * hidden + u] = next_state(inputs, p, h);
    }
  }
}
