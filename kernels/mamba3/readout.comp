// readout: y = sum_r core_r * gate_r * mimo_o_r, core = pre or its RMS norm over the depth times
//   norm_weight, gate = silu(z * mimo_z) or 1, pre = own + decay * entry + d * v.
// Shapes:   own, entry, v [batch * heads, slots, ranks, depth], z, y [batch, length, heads, depth],
//           projections [heads, ranks, depth], norm_weight [heads, depth], d [heads].
// Cost:     reads own, entry, v and z once (twice with a norm); a token and head a workgroup.
// Numerics: F32; sums over the depth in a fixed order.
#version 460
#include "mamba3/readout.glsl"

OA_LOCAL_SIZE(OA_WG);

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
  F32Out y;
  uint batch;
  uint tokens;
  uint heads;
  uint depth;
  uint ranks;
  uint slots;
  float epsilon;
};
OA_PUSH(Args);

void main() {
  uint length = args.tokens, heads = args.heads, depth = args.depth, ranks = args.ranks;
  OA_FOR_EACH_ROW(row, args.batch * length * heads) {
    uint head = row % heads, token = row / heads;
    uint slot = (token / length * heads + head) * args.slots + token % length;
    float decay = has_entry != 0u ? args.gates.v[slot * kGates + kFromEntry] : 0.0;
    float skip = has_d != 0u ? args.d.v[head] : 0.0;
    Readout a = Readout(args.own, args.entry, args.v, args.z, args.mimo_z, args.mimo_o,
                        args.norm_weight, decay, skip, slot * ranks, head * ranks, head, row,
                        depth, ranks);
    float rstd[kMaxRanks];
    for (uint r = 0; r < ranks; ++r) {
      rstd[r] = has_norm != 0u ? readout_rstd(a, r, args.epsilon) : 1.0;
    }
    OA_FOR_EACH_COLUMN(p, depth) {
      float y = 0.0;
      for (uint r = 0; r < ranks; ++r) {
        float core = readout_pre(a, r, p);
        if (has_norm != 0u) core *= rstd[r] * readout_norm_weight(a, p);
        if (has_z != 0u) core *= oa_silu(readout_gate_input(a, r, p));
        y = fma(core, readout_projection(a.mimo_o, a, r, p), y);
      }
      args.y.v[row * depth + p] = y;
    }
  }
}
