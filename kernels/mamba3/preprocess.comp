// preprocess: splits rows of the packed projection into x, z, trap and angle (copies), B and C
//   (each row of N divided by its root mean square) and the step sizes of the heads,
//   dt = clamp(softplus(dd_dt + dt_bias), dt_min, dt_max), adt = dt * min(-heavy, -a_floor),
//   heavy = 1 + dd_a for dd_a >= 0, else 1 / (1 - dd_a).
// Shapes:   projected [rows, 2 I + 2 K N + 3 H + A], dt_bias [H], x, z [rows, I],
//           bh, ch [rows, K N], dt, adt, trap [rows, H], angle [rows, A].
// Cost:     8 bytes an element of the projection, 12 of B and C; a row a workgroup.
// Numerics: F32; sums of squares over lanes in a fixed order.
#version 460
#include "mamba3/preprocess.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In projected;
  F32In dt_bias;
  F32Out x;
  F32Out z;
  F32Out bh;
  F32Out ch;
  F32Out dt;
  F32Out adt;
  F32Out trap;
  F32Out angle;
  uint rows;
  uint inner;
  uint state;
  uint heads;
  uint angles;
  uint bc_rows;
  float epsilon;
  float dt_min;
  float dt_max;
  float a_floor;
};
OA_PUSH(Args);

void copy(F32In from, uint from_at, F32Out to, uint to_at, uint count) {
  OA_FOR_EACH_COLUMN(i, count) { to.v[to_at + i] = from.v[from_at + i]; }
}

void normalise(F32In from, uint from_at, F32Out to, uint to_at, uint count) {
  float sum = 0.0;
  OA_FOR_EACH_COLUMN(i, count) {
    float value = from.v[from_at + i];
    sum = fma(value, value, sum);
  }
  float rstd = oa_rsqrt(workgroup_sum(sum) / float(count) + args.epsilon);
  OA_FOR_EACH_COLUMN(i, count) { to.v[to_at + i] = from.v[from_at + i] * rstd; }
}

void main() {
  uint inner = args.inner, state = args.state, heads = args.heads, angles = args.angles;
  uint bc_rows = args.bc_rows;
  F32In projected = args.projected;
  Slices s = slices(inner, state, heads, angles, bc_rows);
  OA_FOR_EACH_ROW(row, args.rows) {
    uint base = row * s.end;
    copy(projected, base, F32Out(args.z), row * inner, inner);
    copy(projected, base + s.x, F32Out(args.x), row * inner, inner);
    copy(projected, base + s.trap, F32Out(args.trap), row * heads, heads);
    copy(projected, base + s.angle, F32Out(args.angle), row * angles, angles);
    for (uint k = 0; k < bc_rows; ++k) {
      uint to = (row * bc_rows + k) * state;
      normalise(projected, base + s.b + k * state, F32Out(args.bh), to, state);
      normalise(projected, base + s.c + k * state, F32Out(args.ch), to, state);
    }
    OA_FOR_EACH_COLUMN(h, heads) {
      StepSize size = step_size(projected.v[base + s.dd_dt + h], args.dt_bias.v[h],
                                projected.v[base + s.dd_a + h], args.dt_min, args.dt_max,
                                args.a_floor);
      args.dt.v[row * heads + h] = size.dt;
      args.adt.v[row * heads + h] = size.a * size.dt;
    }
  }
}
