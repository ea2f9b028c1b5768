// recurrent_step_backward: one step of the adjoint of a recurrence over the whole device. The
//   gradient of the state behind step t is g[b, t] plus what step t + 1 sends back: dp[b, t+1] @
//   weight_hh + direct; see cell_gradient in recurrent.glsl. Nothing comes back to the last step.
// Shapes:   g, states [batch, steps, hidden], gates_i, projection, di, dp, dp_behind [batch, steps,
//           gates * hidden], direct, next_direct [batch, hidden], weight [gates * hidden, hidden];
//           dp_behind and dp are the same bytes, and so are direct and next_direct. With quads
//           hidden is a multiple of 4. The RNN reads neither gates_i nor projection, and writes no
//           di, which equals dp.
// Cost:     2 * batch * gates * hidden^2 flops; reads the weight batch / 16 times, from caches.
// Numerics: F32; the terms of a sum in eight interleaved parts, each in ascending order.
// Design:   step.glsl.
#version 460
#include "recurrent/step.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 2) const uint has_carry = 0;
layout(constant_id = 3) const uint want_di = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In states;
  F32In gates_i;
  F32In projection;
  F32In weight;
  F32In dp_behind;
  F32In direct;
  F32Out next_direct;
  F32Out di;
  F32Out dp;
  uint batch;
  uint steps;
  uint hidden;
  uint step;
};
OA_PUSH(Args);

F32In weight, dp_behind;
uint hidden, width;
uint dp_at[kRows];  // where dp of this lane's batch elements starts
float acc[kRows][kColumns];

void add_terms(uint j) {
  vec4 d[kRows];
  [[unroll]] for (uint i = 0; i < kRows; ++i) d[i] = load4(dp_behind, dp_at[i], j, width);
  [[unroll]] for (uint t = 0; t < 4; ++t) {
    if (quads != 0u || j + t < width) {
      float w[kColumns] = load_units(weight, (j + t) * hidden);
      [[unroll]] for (uint i = 0; i < kRows; ++i) {
        [[unroll]] for (uint c = 0; c < kColumns; ++c) acc[i][c] = fma(d[i][t], w[c], acc[i][c]);
      }
    }
  }
}

void send_back() {
  const uint stride = 4 * kGroups;
  uint j = 4 * lane_group();
  for (; j + (OA_UNROLL - 1) * stride < width; j += OA_UNROLL * stride) {
    [[unroll]] for (uint part = 0; part < OA_UNROLL; ++part) add_terms(j + part * stride);
  }
  [[dont_unroll]] for (; j < width; j += stride) add_terms(j);
}

void main() {
  F32In g = args.g, states = args.states, gates_i = args.gates_i, projection = args.projection;
  F32In direct = args.direct;
  F32Out next_direct = args.next_direct, di = args.di, dp = args.dp;
  weight = args.weight;
  dp_behind = args.dp_behind;
  hidden = args.hidden;
  width = gates * hidden;
  uint batch = args.batch, steps = args.steps, step = min(args.step, steps - 1u);
  uint id = gl_LocalInvocationID.x;
  uint tiles_u = (hidden + kUnits - 1u) / kUnits;
  uint tiles = tiles_u * ((batch + kBatch - 1u) / kBatch);
  if (steps == 0u) tiles = 0u;
  OA_FOR_EACH_ROW(tile, tiles) {
    uint b0 = tile / tiles_u * kBatch, u0 = tile % tiles_u * kUnits;
    // Lanes outside the matrices repeat the last row or column and store nothing.
    uint b = min(b0 + id / kUnits, batch - 1u), u = min(u0 + id % kUnits, hidden - 1u);
    uint row = b * steps + step;
    float gradient = g.v[row * hidden + u], next = 0.0, h = 0.0;
    vec3 i = vec3(0.0), p = vec3(0.0);
    if (gru == 0u) {
      next = states.v[row * hidden + u];
    } else {
      i = load_gates(gates_i, row * width, u, hidden);
      p = load_gates(projection, row * width, u, hidden);
      h = step != 0u ? states.v[(row - 1u) * hidden + u] : 0.0;
    }
    if (has_carry != 0u && step + 1u < steps) {
      if (gru != 0u) gradient += direct.v[b * hidden + u];
      [[unroll]] for (uint r = 0; r < kRows; ++r) {
        dp_at[r] = (min(b0 + lane_row() + r, batch - 1u) * steps + step + 1u) * width;
        [[unroll]] for (uint c = 0; c < kColumns; ++c) acc[r][c] = 0.0;
      }
      set_units(u0, hidden);
      send_back();
      gradient += join(acc);
    }
    CellGradient d = cell_gradient(gradient, next, i, p, h);
    if (id < kTile && b0 + id / kUnits < batch && u0 + id % kUnits < hidden) {
      store_gates(dp, row * width, u, hidden, d.dp);
      if (want_di != 0u) store_gates(di, row * width, u, hidden, d.di);
      if (gru != 0u) next_direct.v[b * hidden + u] = d.direct;
    }
  }
}
