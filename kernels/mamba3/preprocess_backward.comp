// preprocess_backward: the gradient of the packed projection, every element written once:
//   copies for z, x, trap and angle; dv = rstd (dy - v rstd^2 mean(dy v)) for the rows of B and C;
//   draw = (d_dt + d_adt a) [dt_min <= softplus <= dt_max] sig(raw) for dd_dt, also to `draw`,
//   -d_adt dt [heavy > a_floor] heavy' for dd_a.
// Shapes:   as in preprocess.comp; gradients like their values; draw [rows, H].
// Cost:     8 bytes an element of the projection, 20 of B and C; a row a workgroup.
// Numerics: F32; sums over lanes in a fixed order.
#version 460
#include "mamba3/preprocess.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In projected;
  F32In dt_bias;
  F32In d_x;
  F32In d_z;
  F32In d_bh;
  F32In d_ch;
  F32In d_dt;
  F32In d_adt;
  F32In d_trap;
  F32In d_angle;
  F32Out d_projected;
  F32Out draw;
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

void copy(F32In from, uint from_at, uint to_at, uint count) {
  OA_FOR_EACH_COLUMN(i, count) { args.d_projected.v[to_at + i] = from.v[from_at + i]; }
}

// One row of B or C at `at` of the projection, its gradient at `from`.
void normalise_backward(uint at, F32In dy, uint from, uint count) {
  float squares = 0.0, product = 0.0;
  OA_FOR_EACH_COLUMN(i, count) {
    float value = args.projected.v[at + i];
    squares = fma(value, value, squares);
    product = fma(value, dy.v[from + i], product);
  }
  float rstd = oa_rsqrt(workgroup_sum(squares) / float(count) + args.epsilon);
  float normal = workgroup_sum(product) / float(count) * rstd * rstd;
  OA_FOR_EACH_COLUMN(i, count) {
    args.d_projected.v[at + i] = rstd * (dy.v[from + i] - args.projected.v[at + i] * normal);
  }
}

void step_backward(Slices s, uint base, uint row, uint h) {
  uint at = row * args.heads + h;
  float dd_a = args.projected.v[base + s.dd_a + h];
  StepSize size = step_size(args.projected.v[base + s.dd_dt + h], args.dt_bias.v[h], dd_a,
                            args.dt_min, args.dt_max, args.a_floor);
  float d_adt = args.d_adt.v[at];
  bool passes = size.soft >= args.dt_min && size.soft <= args.dt_max;
  float draw = passes ? (args.d_dt.v[at] + d_adt * size.a) * oa_sigmoid(size.raw) : 0.0;
  float slope = dd_a >= 0.0 ? 1.0 : size.heavy * size.heavy;
  args.d_projected.v[base + s.dd_dt + h] = draw;
  args.draw.v[at] = draw;
  args.d_projected.v[base + s.dd_a + h] =
      size.heavy > args.a_floor ? -d_adt * size.dt * slope : 0.0;
}

void main() {
  uint inner = args.inner, state = args.state, heads = args.heads, angles = args.angles;
  uint bc_rows = args.bc_rows;
  Slices s = slices(inner, state, heads, angles, bc_rows);
  OA_FOR_EACH_ROW(row, args.rows) {
    uint base = row * s.end;
    copy(F32In(args.d_z), row * inner, base, inner);
    copy(F32In(args.d_x), row * inner, base + s.x, inner);
    copy(F32In(args.d_trap), row * heads, base + s.trap, heads);
    copy(F32In(args.d_angle), row * angles, base + s.angle, angles);
    for (uint k = 0; k < bc_rows; ++k) {
      uint from = (row * bc_rows + k) * state;
      normalise_backward(base + s.b + k * state, F32In(args.d_bh), from, state);
      normalise_backward(base + s.c + k * state, F32In(args.d_ch), from, state);
    }
    OA_FOR_EACH_COLUMN(h, heads) { step_backward(s, base, row, h); }
  }
}
