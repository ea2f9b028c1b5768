// recurrent_scan: steps [begin, end) of a recurrence, one workgroup a batch element (and more than
//   one in turn): states[b, t] = cell(gates_i[b, t], weight_hh @ h + bias, h), h = states[b, t-1].
//   Before step `begin` the state is row begin - 1 of `before`, or 0 when begin is 0.
// Shapes:   gates_i [batch, steps, gates * hidden], weight [hidden, gates * hidden] (weight_hh
//           transposed), bias [gates * hidden], before, states [batch, steps, hidden], which may be
//           the same bytes; hidden <= 1024, with quads a multiple of 4.
// Cost:     reads the weight once a step and workgroup, from caches; 2 * gates * hidden^2 flops a
//           step and batch element.
// Numerics: F32; the terms of a projection in fixed parts, each in ascending order.
#version 460
#include "recurrent/scan.glsl"

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
  uint begin;
  uint end;
};
OA_PUSH(Args);

// 16 KiB: the state, and the parts of the projection, [gates, parts, hidden]. There is more than
// one part only where there are fewer columns than OA_WG lanes own: parts * hidden <= OA_WIDE *
// OA_WG.
shared float state[kMaxHidden];
shared float projected[3 * kMaxHidden];

// Adds the rows of the weight of this lane, times the state, for its columns from u on.
void project(F32In weight, Share s, uint u, uint hidden) {
  uint width = gates * hidden;
  OA_ROW p[3] = OA_ROW[3](OA_ROW(0.0), OA_ROW(0.0), OA_ROW(0.0));
  uint k = s.begin;
  for (; s.end - k >= kUnroll; k += kUnroll) {
    [[unroll]] for (uint j = 0; j < kUnroll; ++j) {
      float h = state[k + j];
      OA_FOR_EACH_GATE(g) {
        p[g] += h * load_row(weight, (k + j) * width + g * hidden, u, hidden);
      }
    }
  }
  [[dont_unroll]] for (; k < s.end; ++k) {
    float h = state[k];
    OA_FOR_EACH_GATE(g) p[g] += h * load_row(weight, k * width + g * hidden, u, hidden);
  }
  OA_FOR_EACH_GATE(g) {
    [[unroll]] for (uint c = 0; c < OA_WIDE; ++c) {
      if (u + c < hidden) projected[(g * s.parts + s.part) * hidden + u + c] = OA_ELEMENT(p[g], c);
    }
  }
}

vec3 projection(F32In bias, Share s, uint u, uint hidden) {
  vec3 p = has_bias != 0u ? load_gates(bias, 0u, u, hidden) : vec3(0.0);
  for (uint part = 0; part < s.parts; ++part) {
    OA_FOR_EACH_GATE(g) p[g] += projected[(g * s.parts + part) * hidden + u];
  }
  return p;
}

void main() {
  F32In gates_i = args.gates_i, weight = args.weight, bias = args.bias, before = args.before;
  F32Out states = args.states;
  uint batch = args.batch, steps = args.steps, hidden = min(args.hidden, kMaxHidden);
  uint end = min(args.end, steps), begin = min(args.begin, end), width = gates * hidden;
  Share s = make_share(hidden, hidden);
  OA_FOR_EACH_ROW(b, batch) {
    OA_FOR_EACH_COLUMN(u, hidden) {
      bool given = has_before != 0u && begin != 0u;
      state[u] = given ? before.v[(b * steps + begin - 1u) * hidden + u] : 0.0;
    }
    oa_workgroup_barrier();
    for (uint t = begin; t < end; ++t) {
      uint row = b * steps + t;
      if (s.part < s.parts) {
        for (uint u = s.column; u < hidden; u += OA_WIDE * s.lanes) project(weight, s, u, hidden);
      }
      oa_workgroup_barrier();
      OA_FOR_EACH_COLUMN(u, hidden) {
        vec3 i = load_gates(gates_i, row * width, u, hidden);
        float h = next_state(i, projection(bias, s, u, hidden), state[u]);
        state[u] = h;
        states.v[row * hidden + u] = h;
      }
      oa_workgroup_barrier();
    }
  }
}
