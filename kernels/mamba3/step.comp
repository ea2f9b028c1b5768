// step: tokens one after the other from explicit states, every head on its own:
//   theta += angle * dt, q = rot(c + c_bias), k = rot(b + b_bias), v_r = x * mimo_x_r,
//   full = ssm + dt sig(-trap) sum_r v_state_r k_state_r   (completes the previous token),
//   ssm = e^adt full + gamma sum_r v_r k_r, gamma = dt sig(trap),
//   pre_r = ssm q_r + d v_r, then norm, gate and projection as in readout.comp;
//   k_state = k, v_state = v. Old states are read before anything is written.
// Shapes:   operands as in rotate.comp and readout.comp; ssm [batch * heads, depth, width],
//           angle_state [batch * heads, angles], k_state [batch * heads, ranks, width],
//           v_state [batch * heads, ranks, depth], y [batch, length, heads, depth].
// Cost:     8 bytes and 4 * ranks + 3 flops an element of ssm and token; a head a workgroup.
// Numerics: F32, width ascending within each readout; the theta of a step is not wrapped, only the
//           arguments of its sine and cosine are reduced.
#version 460
#include "common/reduce.glsl"
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint mimo = 0;
layout(constant_id = 1) const uint has_z = 0;
layout(constant_id = 2) const uint has_d = 0;
layout(constant_id = 3) const uint has_norm = 0;
// A whole sequence: theta in angle_state is modulo 2 pi, what it rounds away stays in theta_low.
layout(constant_id = 4) const uint wrapped = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In c;
  F32In b;
  F32In x;
  F32In z;
  F32In adt;
  F32In dt;
  F32In trap;
  F32In angle;
  F32In c_bias;
  F32In b_bias;
  F32In d;
  F32In mimo_x;
  F32In mimo_z;
  F32In mimo_o;
  F32In norm_weight;
  F32Out y;
  F32InOut ssm;
  F32InOut angle_state;
  F32InOut k_state;
  F32InOut v_state;
  uint batch;
  uint tokens;
  uint heads;
  uint groups;
  uint depth;
  uint width;
  uint angles;
  uint ranks;
  float epsilon;
};
OA_PUSH(Args);

const uint kMaxRanks = 8;

// q, k and k_state of ranks * width each, then v and v_state of ranks * depth each. The operator
// rows keep ranks <= 8, depth and width <= 128 and, with more than one rank, depth * width <= 4096.
shared float staged[3600];
shared float theta_low[64];  // of each angle; only the lane that has the angle uses it

struct Head {
  uint bh;
  uint head;
  uint token;  // batch * length + t
  uint row;    // token * heads + head
  bool resumed;  // the previous token's k and v are staged, the states already begun
};

// What a state held before this token: `own` if an earlier token has staged it, else what the step
// was given.
float before(Head h, float own, F32InOut state, uint at) {
  return h.resumed ? own : state.v[at];
}

uint at_k() { return args.ranks * args.width; }
uint at_old_k() { return 2 * args.ranks * args.width; }
uint at_v() { return 3 * args.ranks * args.width; }
uint at_old_v() { return 3 * args.ranks * args.width + args.ranks * args.depth; }

vec2 rotated(F32In x, F32In bias, uint at, uint bias_at, bool whole, float cosine, float sine) {
  vec2 v = vec2(x.v[at] + bias.v[bias_at], whole ? x.v[at + 1] + bias.v[bias_at + 1] : 0.0);
  return rotate(v, cosine, sine);
}

// Turns pair j of q and k of all ranks; the angle state moves on.
void stage_pair(Head h, uint j) {
  uint width = args.width, ranks = args.ranks, groups = args.groups;
  bool whole = 2 * j + 1 < width;
  float cosine = 1.0, sine = 0.0;
  if (j < args.angles) {
    uint at = h.bh * args.angles + j;
    float high = args.angle_state.v[at], low = wrapped != 0u && h.resumed ? theta_low[j] : 0.0;
    add_product(high, low, args.angle.v[h.token * args.angles + j], args.dt.v[h.row]);
    if (wrapped == 0u) args.angle_state.v[at] = high + low;
    wrap_angle(high, low);
    if (wrapped != 0u) {
      args.angle_state.v[at] = high;
      theta_low[j] = low;
    }
    float theta = high + low;
    cosine = oa_cos(theta);
    sine = oa_sin(theta);
  }
  for (uint r = 0; r < ranks; ++r) {
    uint from = ((h.token * ranks + r) * groups + h.head / (args.heads / groups)) * width + 2 * j;
    uint bias_at = (h.head * ranks + r) * width + 2 * j, to = r * width + 2 * j;
    vec2 q = rotated(F32In(args.c), F32In(args.c_bias), from, bias_at, whole, cosine, sine);
    vec2 k = rotated(F32In(args.b), F32In(args.b_bias), from, bias_at, whole, cosine, sine);
    uint state_at = h.bh * ranks * width + to;
    for (uint e = 0; e < (whole ? 2u : 1u); ++e) {
      uint at = at_k() + to + e;
      staged[at_old_k() + to + e] = before(h, staged[at], F32InOut(args.k_state), state_at + e);
      staged[at] = e == 0u ? k.x : k.y;
      staged[to + e] = e == 0u ? q.x : q.y;
    }
  }
}

void stage_inputs(Head h) {
  uint depth = args.depth, ranks = args.ranks;
  OA_FOR_EACH_COLUMN(i, ranks * depth) {
    float v = args.x.v[h.row * depth + i % depth];
    if (mimo != 0u) v *= args.mimo_x.v[h.head * ranks * depth + i];
    uint state_at = h.bh * ranks * depth + i;
    staged[at_old_v() + i] = before(h, staged[at_v() + i], F32InOut(args.v_state), state_at);
    staged[at_v() + i] = v;
  }
  OA_FOR_EACH_COLUMN(j, (args.width + 1) / 2) { stage_pair(h, j); }
}

// Moves row p of the state on and reads it out with every rank's q.
void advance_row(Head h, uint p, float late, float own, out float pre[kMaxRanks]) {
  uint width = args.width, depth = args.depth, ranks = args.ranks;
  float decay = oa_exp(args.adt.v[h.row]);
  float skip = has_d != 0u ? args.d.v[h.head] : 0.0;
  for (uint r = 0; r < ranks; ++r) pre[r] = 0.0;
  for (uint n = 0; n < width; ++n) {
    float previous = 0.0, added = 0.0;
    for (uint r = 0; r < ranks; ++r) {
      uint k = r * width + n, v = r * depth + p;
      previous = fma(staged[at_old_v() + v], staged[at_old_k() + k], previous);
      added = fma(staged[at_v() + v], staged[at_k() + k], added);
    }
    uint at = (h.bh * depth + p) * width + n;
    float full = fma(late, previous, args.ssm.v[at]);
    float state = fma(own, added, decay * full);
    args.ssm.v[at] = state;
    for (uint r = 0; r < ranks; ++r) pre[r] = fma(staged[r * width + n], state, pre[r]);
  }
  for (uint r = 0; r < ranks; ++r) {
    if (has_d != 0u) pre[r] = fma(skip, staged[at_v() + r * depth + p], pre[r]);
  }
}

float gated(Head h, uint p, float pre[kMaxRanks], float rstd[kMaxRanks]) {
  uint depth = args.depth, ranks = args.ranks;
  float y = 0.0;
  for (uint r = 0; r < ranks; ++r) {
    uint projection = (h.head * ranks + r) * depth + p;
    float core = pre[r];
    if (has_norm != 0u) core *= rstd[r] * args.norm_weight.v[h.head * depth + p];
    if (has_z != 0u) {
      float z = args.z.v[h.row * depth + p];
      core *= oa_silu(mimo != 0u ? z * args.mimo_z.v[projection] : z);
    }
    y = mimo != 0u ? fma(core, args.mimo_o.v[projection], y) : core;
  }
  return y;
}

// depth <= 128: rows of the state an invocation works on.
const uint kRows = (128 + OA_WG - 1) / OA_WG;

void advance(Head h) {
  uint depth = args.depth, ranks = args.ranks;
  float dt = args.dt.v[h.row], trap = args.trap.v[h.row];
  float own = dt * oa_sigmoid(trap), late = dt * oa_sigmoid(-trap);
  float pre[kRows][kMaxRanks], rstd[kMaxRanks], squares[kMaxRanks];
  for (uint r = 0; r < kMaxRanks; ++r) squares[r] = 0.0;
  for (uint i = 0; i < kRows; ++i) {
    uint p = i * OA_WG + gl_LocalInvocationID.x;
    if (p < depth) {
      advance_row(h, p, late, own, pre[i]);
      for (uint r = 0; r < ranks; ++r) squares[r] = fma(pre[i][r], pre[i][r], squares[r]);
    }
  }
  for (uint r = 0; r < ranks; ++r) {
    rstd[r] = 1.0;
    if (has_norm != 0u) rstd[r] = oa_rsqrt(workgroup_sum(squares[r]) / float(depth) + args.epsilon);
  }
  for (uint i = 0; i < kRows; ++i) {
    uint p = i * OA_WG + gl_LocalInvocationID.x;
    if (p < depth) args.y.v[h.row * depth + p] = gated(h, p, pre[i], rstd);
  }
}

void store_states(uint bh) {
  uint depth = args.depth, width = args.width, ranks = args.ranks;
  OA_FOR_EACH_COLUMN(i, ranks * width) {
    args.k_state.v[bh * ranks * width + i] = staged[at_k() + i];
  }
  OA_FOR_EACH_COLUMN(i, ranks * depth) {
    args.v_state.v[bh * ranks * depth + i] = staged[at_v() + i];
  }
}

void main() {
  uint length = args.tokens, heads = args.heads;
  OA_FOR_EACH_ROW(bh, args.batch * heads) {
    for (uint t = 0; t < length; ++t) {
      uint token = bh / heads * length + t;
      Head h = Head(bh, bh % heads, token, token * heads + bh % heads, t > 0u);
      oa_workgroup_barrier();
      stage_inputs(h);
      oa_workgroup_barrier();
      advance(h);
    }
    store_states(bh);
  }
}
