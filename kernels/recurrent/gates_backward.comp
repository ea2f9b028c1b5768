// recurrent_gates_backward: the adjoint of one step of a recurrence for all units at once. The
//   gradient of a state is g[b, step, u] plus what came back from the step behind it: direct, and
//   through the projection, carry. Equations: cell_gradient in recurrent.glsl.
// Shapes:   g, before, states [batch, steps, hidden], carry, direct, next_direct [batch, hidden],
//           gates_i, projection, di, dp [batch, steps, gates * hidden], dp_step [batch, gates *
//           hidden]. di and dp are written at [:, step], dp_step is dp there; next_direct is that
//           of this step and may be the same bytes as direct. `before` holds the state before each
//           step, `states` the one behind it: the GRU reads the first, the RNN the second.
// Cost:     reads 4 * (2 gates + 4), writes 4 * (3 gates + 1) bytes a unit; 25 flops a gate.
// Numerics: F32, math.glsl; absolute 4e-6 times the gradient.
#version 460
#include "recurrent/recurrent.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 1) const uint has_carry = 0;
layout(constant_id = 2) const uint want_di = 0;
layout(constant_id = 3) const uint want_step = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In carry;
  F32In direct;
  F32Out next_direct;
  F32In gates_i;
  F32In projection;
  F32In before;
  F32In states;
  F32Out di;
  F32Out dp;
  F32Out dp_step;
  uint batch;
  uint steps;
  uint hidden;
  uint step;
};
OA_PUSH(Args);

void main() {
  F32In g = args.g, carry = args.carry, gates_i = args.gates_i, projection = args.projection;
  F32In before = args.before, states = args.states;
  F32In direct = args.direct;
  F32Out next_direct = args.next_direct, di = args.di, dp = args.dp, dp_step = args.dp_step;
  uint steps = args.steps, hidden = args.hidden;
  uint count = steps != 0u ? args.batch * hidden : 0u;
  uint step = min(args.step, steps - 1), width = gates * hidden;
  OA_FOR_EACH(k, count) {
    uint b = k / hidden;
    uint unit = k - b * hidden;
    uint row = b * steps + step;
    float gradient = g.v[row * hidden + unit];
    if (has_carry != 0u) gradient += carry.v[k];
    if (has_carry != 0u && gru != 0u) gradient += direct.v[k];
    float next = 0.0, h = 0.0;
    vec3 i = vec3(0.0), p = vec3(0.0);
    if (gru == 0u) {
      next = states.v[row * hidden + unit];
    } else {
      i = load_gates(gates_i, row * width, unit, hidden);
      p = load_gates(projection, row * width, unit, hidden);
      h = before.v[row * hidden + unit];
    }
    CellGradient d = cell_gradient(gradient, next, i, p, h);
    if (want_di != 0u) store_gates(di, row * width, unit, hidden, d.di);
    store_gates(dp, row * width, unit, hidden, d.dp);
    if (want_step != 0u) store_gates(dp_step, b * width, unit, hidden, d.dp);
    if (gru != 0u) next_direct.v[k] = d.direct;
  }
}
