// readout_backward: the gradient of readout.comp behind the scan,
//   dcore = g * mimo_o * gate, dn = dcore * norm_weight,
//   dpre = rstd * (dn - pre * rstd^2 * mean(dn * pre)) with a norm, else dcore,
//   dz = sum_r darg * mimo_z, darg = g * mimo_o * core * silu'(z * mimo_z),
//   and the terms of the parameters, one per token, to be summed by another kernel:
//   d: dpre * v over ranks and depth; mimo_z: darg * z; mimo_o: g * core * gate; norm: dcore * n.
//   dpre_entry is dpre times the decay from the chunk's entry.
// Shapes:   as in readout.comp; g, dz like y; dpre, dpre_entry like own; d_terms [batch * length,
//           heads], mimo terms [batch * length, heads, ranks, depth], norm_terms without the ranks.
// Cost:     reads own, entry, v, z and g once (three times with a norm).
// Numerics: F32; sums over the depth in a fixed order. Slots behind the end get zeros.
#version 460
#include "mamba3/readout.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 5) const uint want_d = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In own;
  F32In entry;
  F32In v;
  F32In gates;
  F32In d;
  F32In z;
  F32In mimo_z;
  F32In mimo_o;
  F32In norm_weight;
  F32In g;
  F32Out dpre;
  F32Out dpre_entry;
  F32Out dz;
  F32Out d_terms;
  F32Out mimo_z_terms;
  F32Out mimo_o_terms;
  F32Out norm_terms;
  uint batch;
  uint tokens;
  uint heads;
  uint depth;
  uint ranks;
  uint slots;
  float epsilon;
};
OA_PUSH(Args);

// dcore of one rank.
float core_gradient(Readout a, uint r, uint p) {
  float g = args.g.v[a.out_row * a.depth + p] * readout_projection(a.mimo_o, a, r, p);
  return has_z != 0u ? g * oa_silu(readout_gate_input(a, r, p)) : g;
}

// mean(dn * pre) of one rank. Uniform control flow.
float normal_part(Readout a, uint r) {
  float sum = 0.0;
  OA_FOR_EACH_COLUMN(p, a.depth) {
    sum = fma(core_gradient(a, r, p) * readout_norm_weight(a, p), readout_pre(a, r, p), sum);
  }
  return workgroup_sum(sum) / float(a.depth);
}

struct Norm {
  float rstd;
  float normal;
};

void store_padding(uint slot, uint depth, uint ranks) {
  OA_FOR_EACH_COLUMN(p, depth * ranks) {
    args.dpre.v[slot * ranks * depth + p] = 0.0;
    if (has_entry != 0u) args.dpre_entry.v[slot * ranks * depth + p] = 0.0;
  }
}

// Everything of one rank and place; adds to dz and the norm term, returns the share of d's term.
float store_rank(Readout a, uint r, uint p, Norm norm, inout float dz, inout float norm_term) {
  float pre = readout_pre(a, r, p), dcore = core_gradient(a, r, p);
  float normalised = pre * norm.rstd, dpre = dcore, core = pre;
  if (has_norm != 0u) {
    core = normalised * readout_norm_weight(a, p);
    norm_term = fma(dcore, normalised, norm_term);
    dpre = norm.rstd * (dcore * readout_norm_weight(a, p) -
                        normalised * (norm.rstd * norm.normal));
  }
  uint term = (a.out_row * a.ranks + r) * a.depth + p;
  float g = args.g.v[a.out_row * a.depth + p], gate = 1.0;
  if (has_z != 0u) {
    float arg = readout_gate_input(a, r, p);
    float darg = g * readout_projection(a.mimo_o, a, r, p) * core * oa_silu_derivative(arg);
    dz = fma(darg, readout_projection(a.mimo_z, a, r, p), dz);
    gate = oa_silu(arg);
    if (mimo != 0u) args.mimo_z_terms.v[term] = darg * a.z.v[a.out_row * a.depth + p];
  }
  if (mimo != 0u) args.mimo_o_terms.v[term] = g * core * gate;
  uint at = (a.slot_row + r) * a.depth + p;
  args.dpre.v[at] = dpre;
  if (has_entry != 0u) args.dpre_entry.v[at] = a.decay * dpre;
  return want_d != 0u ? dpre * a.v.v[at] : 0.0;
}

void store_token(Readout a) {
  Norm norms[kMaxRanks];
  for (uint r = 0; r < a.ranks; ++r) {
    norms[r] = Norm(1.0, 0.0);
    if (has_norm != 0u) {
      norms[r].rstd = readout_rstd(a, r, args.epsilon);
      norms[r].normal = normal_part(a, r);
    }
  }
  float d_term = 0.0;
  OA_FOR_EACH_COLUMN(p, a.depth) {
    float dz = 0.0, norm_term = 0.0;
    for (uint r = 0; r < a.ranks; ++r) d_term += store_rank(a, r, p, norms[r], dz, norm_term);
    uint at = a.out_row * a.depth + p;
    if (has_z != 0u) args.dz.v[at] = dz;
    if (has_norm != 0u) args.norm_terms.v[at] = norm_term;
  }
  if (want_d != 0u) {
    d_term = workgroup_sum(d_term);
    if (gl_LocalInvocationID.x == 0u) args.d_terms.v[a.out_row] = d_term;
  }
}

void main() {
  uint length = args.tokens, heads = args.heads, depth = args.depth, ranks = args.ranks;
  uint slots = args.slots;
  OA_FOR_EACH_ROW(slot, args.batch * heads * slots) {
    uint t = slot % slots, bh = slot / slots, head = bh % heads;
    if (t >= length) {
      store_padding(slot, depth, ranks);
    } else {
      float decay = has_entry != 0u ? args.gates.v[slot * kGates + kFromEntry] : 0.0;
      float skip = has_d != 0u ? args.d.v[head] : 0.0;
      store_token(Readout(args.own, args.entry, args.v, args.z, args.mimo_z, args.mimo_o,
                          args.norm_weight, decay, skip, slot * ranks, head * ranks, head,
                          (bh / heads * length + t) * heads + head, depth, ranks));
    }
  }
}
