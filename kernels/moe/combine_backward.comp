// moe_combine_backward: dpacked[p, :] = gate[s] * g[s / K, :] with s = packed_slot[p], and
//   dgate[s] = dot(g[s / K, :], packed[inverse[s], :]), K = routes / tokens; zeros where the map
//   holds no route.
// Shapes:   g [tokens, columns], packed and dpacked [routes, columns]; gate, dgate, inverse U32 and
//           packed_slot U32 [routes].
// Cost:     reads 12 and writes 4 bytes an element of packed.
// Numerics: fp32; a dot product is summed in `lanes` interleaved parts, then in a fixed tree.
// Design:   `lanes` invocations share row p of dpacked and element p of dgate.
#version 460
#include "moe/rows.glsl"
#ifdef OA_CPU
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint lanes = OA_WG;  // a power of two, at most OA_WG
layout(constant_id = 1) const uint want_packed = 0;
layout(constant_id = 2) const uint want_gate = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  UnitsIn g;
  UnitsIn packed_rows;
  F32In gate;
  U32In inverse;
  U32In packed_slot;
  UnitsOut dpacked;
  F32Out dgate;
  uint tokens;
  uint routes;
  uint columns;
};
OA_PUSH(Args);

// Sum of x over the lanes that share a row; in its first lane.
#ifdef OA_CPU
float sum_of_row(float x) { return subgroupAdd(x); }
#else
shared float partial[OA_WG];

float sum_of_row(float x) {
  uint lane = gl_LocalInvocationID.x;
  for (uint count = lanes / 2; count > 0; count /= 2) {
    partial[lane] = x;
    barrier();
    if (lane % lanes < count) x += partial[lane + count];
    barrier();
  }
  return x;
}
#endif

void main() {
  UnitsIn g = args.g, packed_rows = args.packed_rows;
  F32In gate = args.gate;
  U32In inverse = args.inverse, packed_slot = args.packed_slot;
  UnitsOut dpacked = args.dpacked;
  F32Out dgate = args.dgate;
  uint tokens = max(args.tokens, 1u), routes = args.routes, columns = args.columns;
  uint per_token = max(routes / tokens, 1u);
  uint first = gl_LocalInvocationID.x % lanes;
  const uint rows = OA_WG / lanes;
  OA_FOR_EACH_ROW(block, routes / rows + uint(routes % rows != 0u)) {
    uint row = block * rows + gl_LocalInvocationID.x / lanes;
    uint end = row < routes ? columns : 0u;  // rows behind the last one do nothing
    uint at = min(row, routes - 1u);
    if (want_packed != 0u) {
      uint slot = packed_slot.v[at], from = min(slot, routes - 1u);
      float weight = gate.v[from];
      uint token = min(from / per_token, tokens - 1u);
      for (uint c = first; c < end; c = oa_advance(c, lanes, end)) {
        OA_UNIT value = weight * g.v[token * columns + c];
        dpacked.v[at * columns + c] = slot < routes ? value : OA_UNIT(0.0);
      }
    }
    if (want_gate != 0u) {
      uint packed_row = inverse.v[at], from = min(packed_row, routes - 1u);
      uint token = min(at / per_token, tokens - 1u);
      float sum = 0.0;
      for (uint c = first; c < end; c = oa_advance(c, lanes, end)) {
        sum += unit_dot(g.v[token * columns + c], packed_rows.v[from * columns + c]);
      }
      sum = sum_of_row(sum);
      if (first == 0u && row < routes) dgate.v[row] = packed_row < routes ? sum : 0.0;
    }
  }
}
