// recurrent_gates: one step of a recurrence whose projection is given, for all units at once:
//   next[b, u] = cell(gates_i[b, step, :, u], projection[b, :, u], state[b, u]), recurrent.glsl.
//   Without a projection (the first step, from state 0) it is the bias, or 0.
// Shapes:   gates_i [batch, steps, gates * hidden], projection [batch, gates * hidden],
//           bias [gates * hidden], state, next [batch, hidden], y [batch, steps, hidden]. y gets
//           next at [:, step]; state and next may be the same bytes.
// Cost:     reads 4 * (2 gates + 1), writes 8 bytes a unit; 20 flops a gate.
// Numerics: F32, math.glsl; absolute 2e-6.
#version 460
#include "recurrent/recurrent.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 1) const uint has_projection = 1;
layout(constant_id = 2) const uint has_bias = 0;
layout(constant_id = 3) const uint has_state = 1;
layout(constant_id = 4) const uint want_next = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In gates_i;
  F32In projection;
  F32In bias;
  F32In state;
  F32Out next;
  F32Out y;
  uint batch;
  uint steps;
  uint hidden;
  uint step;
};
OA_PUSH(Args);

void main() {
  F32In gates_i = args.gates_i, projection = args.projection, bias = args.bias, state = args.state;
  F32Out next = args.next, y = args.y;
  uint steps = args.steps, hidden = args.hidden;
  uint count = steps != 0u ? args.batch * hidden : 0u;
  uint step = min(args.step, steps - 1);
  OA_FOR_EACH(k, count) {
    uint b = k / hidden;
    uint unit = k - b * hidden;
    uint row = b * steps + step;
    vec3 i = load_gates(gates_i, row * gates * hidden, unit, hidden);
    vec3 p = vec3(0.0);
    if (has_projection != 0u) {
      p = load_gates(projection, b * gates * hidden, unit, hidden);
    } else if (has_bias != 0u) {
      p = load_gates(bias, 0u, unit, hidden);
    }
    float h = next_state(i, p, has_state != 0u ? state.v[k] : 0.0);
    y.v[row * hidden + unit] = h;
    if (want_next != 0u) next.v[k] = h;
  }
}
