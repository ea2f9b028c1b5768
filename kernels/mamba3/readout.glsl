// readout.glsl: what the readout of a token and its backward pass share: pre, its norm, its gate.
#ifndef OA_MAMBA3_READOUT_GLSL_
#define OA_MAMBA3_READOUT_GLSL_

#include "common/reduce.glsl"
#include "mamba3/mamba3.glsl"

const uint kMaxRanks = 8;

layout(constant_id = 0) const uint mimo = 0;
layout(constant_id = 1) const uint has_z = 0;
layout(constant_id = 2) const uint has_d = 0;
layout(constant_id = 3) const uint has_norm = 0;
layout(constant_id = 4) const uint has_entry = 0;  // there are chunks before this one

// What is read at (token, head): operands and products.
struct Readout {
  F32In own;    // (weights * products) v
  F32In entry;  // q S_entry, not yet decayed
  F32In v;
  F32In z;
  F32In mimo_z;
  F32In mimo_o;
  F32In norm_weight;
  float decay;    // from the chunk's entry
  float skip;     // d
  uint slot_row;  // slot * ranks: where rank 0 starts in `own`, `entry` and `v`
  uint head_row;  // head * ranks, the same in the projections
  uint head;
  uint out_row;   // token * heads + head
  uint depth;
  uint ranks;
};

float readout_pre(Readout a, uint r, uint p) {
  uint at = (a.slot_row + r) * a.depth + p;
  float value = a.own.v[at];
  if (has_entry != 0u) value = fma(a.decay, a.entry.v[at], value);
  return has_d != 0u ? fma(a.skip, a.v.v[at], value) : value;
}

// 1 / sqrt(mean(pre^2) + epsilon) of one rank. Uniform control flow.
float readout_rstd(Readout a, uint r, float epsilon) {
  float sum = 0.0;
  OA_FOR_EACH_COLUMN(p, a.depth) {
    float pre = readout_pre(a, r, p);
    sum = fma(pre, pre, sum);
  }
  return oa_rsqrt(workgroup_sum(sum) / float(a.depth) + epsilon);
}

float readout_projection(F32In x, Readout a, uint r, uint p) {
  return mimo != 0u ? x.v[(a.head_row + r) * a.depth + p] : 1.0;
}

float readout_gate_input(Readout a, uint r, uint p) {
  return a.z.v[a.out_row * a.depth + p] * readout_projection(a.mimo_z, a, r, p);
}

float readout_norm_weight(Readout a, uint p) { return a.norm_weight.v[a.head * a.depth + p]; }

#endif  // OA_MAMBA3_READOUT_GLSL_
