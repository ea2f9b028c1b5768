// recurrent_scan: steps [begin, end) of a recurrence, one workgroup a batch element (and more than
//   one in turn): states[b, t] = cell(gates_i[b, t], weight_hh @ h + bias, h), h = states[b, t-1].
//   Before step `begin` the state is row begin - 1 of `before`, or 0 when begin is 0.
// Shapes:   gates_i [batch, steps, gates * hidden], weight [hidden, gates * hidden] (weight_hh
//           transposed), bias [gates * hidden], before, states [batch, steps, hidden], which may be
//           the same bytes; hidden <= 1024.
// Cost:     reads the weight once a step and workgroup, from caches; 2 * gates * hidden^2 flops a
//           step and batch element.
// Numerics: F32; the terms of a projection in fixed parts, each in ascending order.
#version 460
#include "recurrent/scan.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 1) const uint has_bias = 0;
layout(constant_id = 2) const uint has_before = 0;

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

shared float state[2 * kMaxHidden];  // before and behind the step, by turns
shared float partial[3 * OA_WG];

// p + x * weight[at, gate].
Gates add_row(F32In weight, uint at, uint hidden, float x, Gates p) {
  [[unroll]] for (uint g = 0; g < gates; ++g) {
    p.v[g] = fma(x, weight.v[at + g * hidden], p.v[g]);
  }
  return p;
}

// sum over rows k of this lane of h[k] * weight[k, gate, unit].
Gates project(F32In weight, Share s, uint h, uint unit, uint hidden) {
  Gates p = no_gates();
  uint width = gates * hidden;
  uint k = s.begin, at = k * width + unit;
  for (; s.end - k >= kUnroll; k += kUnroll) {
    [[unroll]] for (uint j = 0; j < kUnroll; ++j) {
      p = add_row(weight, at, hidden, state[h + k + j], p);
      at += width;
    }
  }
  [[dont_unroll]] for (; k < s.end; ++k) {
    p = add_row(weight, at, hidden, state[h + k], p);
    at += width;
  }
  return p;
}

// Adds the parts of a column; the result is valid in its first lane.
Gates join(Share s, Gates p) {
  uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint g = 0; g < gates; ++g) partial[g * OA_WG + lane] = p.v[g];
  oa_workgroup_barrier();
  if (s.part != 0u) return p;
  for (uint part = 1; part < s.parts; ++part) {
    [[unroll]] for (uint g = 0; g < gates; ++g) {
      p.v[g] += partial[g * OA_WG + part * s.columns + lane];
    }
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
    uint now = 0;
    for (uint t = begin; t < end; ++t) {
      uint row = b * steps + t, next = kMaxHidden - now;
      for (uint first = 0; first < hidden; first += s.columns) {
        uint u = min(first + s.column, hidden - 1u);
        Gates i = load_gates(gates_i, row * width, u, hidden);
        Gates p = project(weight, s, now, u, hidden);
        if (s.parts > 1u) p = join(s, p);
        if (s.part == 0u && first + s.column < hidden) {
          if (has_bias != 0u) {
            [[unroll]] for (uint g = 0; g < gates; ++g) p.v[g] += bias.v[g * hidden + u];
          }
          float h = next_state(i, p, state[now + u]);
          state[next + u] = h;
          states.v[row * hidden + u] = h;
        }
      }
      oa_workgroup_barrier();
      now = next;
    }
  }
}
