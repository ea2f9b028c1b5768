// recurrent_scan_backward: steps end - 1 .. begin of the adjoint of a recurrence, one workgroup a
//   batch element (and more than one in turn). The gradient of the state behind step t is g[b, t]
//   plus what step t + 1 sends back: dp @ weight_hh + direct; see cell_gradient in recurrent.glsl.
//   carry brings that sum from the call before, next_carry takes it to the next one and may be the
//   same bytes; nothing is sent back from step 0.
// Shapes:   g, states [batch, steps, hidden], gates_i, projection, di, dp [batch, steps, gates *
//           hidden], weight [gates * hidden, hidden], carry, next_carry [batch, hidden]; hidden <=
//           1024, with quads a multiple of 4. The RNN reads neither gates_i nor projection, and
//           writes no di, which equals dp.
// Cost:     reads the weight once a step and workgroup, from caches; 2 * gates * hidden^2 flops a
//           step and batch element.
// Numerics: F32; the terms of a sum in fixed parts, each in ascending order.
#version 460
#include "recurrent/scan.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 2) const uint has_carry = 0;
layout(constant_id = 3) const uint want_carry = 0;
layout(constant_id = 4) const uint want_di = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In states;
  F32In gates_i;
  F32In projection;
  F32In weight;
  F32In carry;
  F32Out next_carry;
  F32Out di;
  F32Out dp;
  uint batch;
  uint steps;
  uint hidden;
  uint begin;
  uint end;
};
OA_PUSH(Args);

// 16 KiB: [gates * hidden] of dp, [hidden] of what is sent back, then [parts, hidden] of partial
// sums where there is more than one part: then hidden is at most 512 and that fits.
shared float work[4 * kMaxHidden];

// Adds the rows of the weight of this lane, times dp, for its columns from u on.
OA_ROW send_back(F32In weight, Share s, uint u, uint hidden) {
  OA_ROW sum = OA_ROW(0.0);
  uint j = s.begin;
  for (; s.end - j >= 2u * kUnroll; j += 2u * kUnroll) {
    [[unroll]] for (uint i = 0; i < 2u * kUnroll; ++i) {
      sum += work[j + i] * load_row(weight, (j + i) * hidden, u, hidden);
    }
  }
  [[dont_unroll]] for (; j < s.end; ++j) sum += work[j] * load_row(weight, j * hidden, u, hidden);
  return sum;
}

void main() {
  F32In g = args.g, states = args.states, gates_i = args.gates_i, projection = args.projection;
  F32In weight = args.weight, carry = args.carry;
  F32Out next_carry = args.next_carry, di = args.di, dp = args.dp;
  uint batch = args.batch, steps = args.steps, hidden = min(args.hidden, kMaxHidden);
  uint end = min(args.end, steps), begin = min(args.begin, end), width = gates * hidden;
  Share s = make_share(hidden, width);
  OA_FOR_EACH_ROW(b, batch) {
    OA_FOR_EACH_COLUMN(u, hidden) {
      work[width + u] = has_carry != 0u ? carry.v[b * hidden + u] : 0.0;
    }
    for (uint t = end; t > begin;) {
      --t;
      uint row = b * steps + t;
      OA_FOR_EACH_COLUMN(u, hidden) {
        float next = 0.0, h = 0.0;
        vec3 i = vec3(0.0), p = vec3(0.0);
        if (gru == 0u) {
          next = states.v[row * hidden + u];
        } else {
          i = load_gates(gates_i, row * width, u, hidden);
          p = load_gates(projection, row * width, u, hidden);
          h = t != 0u ? states.v[(row - 1u) * hidden + u] : 0.0;
        }
        CellGradient d = cell_gradient(g.v[row * hidden + u] + work[width + u], next, i, p, h);
        OA_FOR_EACH_GATE(k) work[k * hidden + u] = d.dp[k];
        work[width + u] = d.direct;
        store_gates(dp, row * width, u, hidden, d.dp);
        if (want_di != 0u) store_gates(di, row * width, u, hidden, d.di);
      }
      oa_workgroup_barrier();
      if (t != 0u && s.part < s.parts) {
        // Alone with its columns a lane adds to what is sent back, else to the sums of its part.
        uint to = s.parts > 1u ? width + hidden + s.part * hidden : width;
        for (uint u = s.column; u < hidden; u += OA_WIDE * s.lanes) {
          OA_ROW sum = send_back(weight, s, u, hidden);
          [[unroll]] for (uint c = 0; c < OA_WIDE; ++c) {
            if (u + c < hidden) {
              float own = OA_ELEMENT(sum, c);
              work[to + u + c] = s.parts > 1u ? own : work[to + u + c] + own;
            }
          }
        }
      }
      oa_workgroup_barrier();
      OA_FOR_EACH_COLUMN(u, hidden) {
        for (uint part = 0; t != 0u && s.parts > 1u && part < s.parts; ++part) {
          work[width + u] += work[width + hidden + part * hidden + u];
        }
      }
    }
    OA_FOR_EACH_COLUMN(u, hidden) {
      if (want_carry != 0u) next_carry.v[b * hidden + u] = work[width + u];
    }
  }
}
