// rotate_backward: the gradients of q and k of a token, collected, and turned back:
//   dq = dq_own + decay * dq_entry, dk = dk_own + to_exit * dk_exit,
//   dtheta_j = sum over ranks of dq x q + dk x k (the plane's cross product) of pair j < angles,
//   dc, db = dq, dk turned by -theta_j, and of the states, for the weights:
//   from_entry = decay * (q . dq_entry), to_exit = k . dk_exit over ranks and width.
// Shapes:   q, k, dq_*, dk_* [batch * heads, slots, ranks, width],
//           gates [batch * heads, slots, kGates], from_entry, to_exit [batch * heads, slots],
//           theta, dtheta [batch * heads, length, angles],
//           dc, db [batch, length, heads, ranks, width].
// Cost:     reads 24 and writes 8 bytes an element; a token and head a workgroup.
// Numerics: F32; sums in a fixed order.
#version 460
#include "common/reduce.glsl"
#include "mamba3/mamba3.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint has_entry = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In q;
  F32In k;
  F32In dq_own;
  F32In dk_own;
  F32In dq_entry;
  F32In dk_exit;
  F32In gates;
  F32In theta;
  F32Out dtheta;
  F32Out from_entry;
  F32Out to_exit;
  F32Out dc;
  F32Out db;
  uint batch;
  uint tokens;
  uint heads;
  uint width;
  uint angles;
  uint ranks;
  uint slots;
};
OA_PUSH(Args);

vec2 load(F32In x, uint at, bool whole) { return vec2(x.v[at], whole ? x.v[at + 1] : 0.0); }

void store(F32Out y, uint at, vec2 value, bool whole) {
  y.v[at] = value.x;
  if (whole) y.v[at + 1] = value.y;
}

float cross_product(vec2 v, vec2 dv) { return dv.y * v.x - dv.x * v.y; }

// Pair j of one token and head; adds to the two products with the states.
void store_pair(uint slot, uint row, uint theta_row, uint j, inout float q_part,
                inout float k_part) {
  bool whole = 2 * j + 1 < args.width;
  float cosine = 1.0, sine = 0.0, dtheta = 0.0;
  if (j < args.angles) {
    float theta = args.theta.v[theta_row * args.angles + j];
    cosine = oa_cos(theta);
    sine = oa_sin(theta);
  }
  for (uint r = 0; r < args.ranks; ++r) {
    uint at = (slot * args.ranks + r) * args.width + 2 * j;
    uint to = (row * args.ranks + r) * args.width + 2 * j;
    vec2 q = load(F32In(args.q), at, whole), k = load(F32In(args.k), at, whole);
    vec2 dq = load(F32In(args.dq_own), at, whole), dk = load(F32In(args.dk_own), at, whole);
    if (has_entry != 0u) {
      vec2 entry = load(F32In(args.dq_entry), at, whole);
      vec2 exit = load(F32In(args.dk_exit), at, whole);
      q_part += dot(q, entry);
      k_part += dot(k, exit);
      dq += args.gates.v[slot * kGates + kFromEntry] * entry;
      dk += args.gates.v[slot * kGates + kToExit] * exit;
    }
    dtheta += cross_product(q, dq) + cross_product(k, dk);
    store(F32Out(args.dc), to, rotate_back(dq, cosine, sine), whole);
    store(F32Out(args.db), to, rotate_back(dk, cosine, sine), whole);
  }
  if (j < args.angles) args.dtheta.v[theta_row * args.angles + j] = dtheta;
}

void main() {
  uint length = args.tokens, heads = args.heads;
  uint pairs = (args.width + 1) / 2;
  OA_FOR_EACH_ROW(theta_row, args.batch * heads * length) {
    uint t = theta_row % length, bh = theta_row / length;
    uint slot = bh * args.slots + t;
    uint row = (bh / heads * length + t) * heads + bh % heads;
    float q_part = 0.0, k_part = 0.0;
    OA_FOR_EACH_COLUMN(j, pairs) { store_pair(slot, row, theta_row, j, q_part, k_part); }
    if (has_entry != 0u) {
      q_part = workgroup_sum(q_part);
      k_part = workgroup_sum(k_part);
      if (gl_LocalInvocationID.x == 0u) {
        args.from_entry.v[slot] = args.gates.v[slot * kGates + kFromEntry] * q_part;
        args.to_exit.v[slot] = k_part;
      }
    }
  }
}
