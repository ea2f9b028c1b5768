// flash_backward: gradients of flash.comp from its lse, scores computed again:
//   p = exp(z - lse), dz = p * (g . value - delta) * scale, delta = g . y of each query;
//   OA_KEYS 0: dquery = sum_k dz key;  OA_KEYS 1: dkey = sum_q dz query, dvalue = sum_q p g.
// Shapes:   query, key, value, g, dquery, dkey, dvalue [heads, length, width], mask
//           [heads * length, length], lse, delta [heads, length].
// Cost:     6 (queries) and 8 (keys) heads length^2 width flops, half of them when causal; no
//           scores in memory.
// Numerics: F32, the other rows ascending in tiles of 32.
#version 460
#include "attention/flash.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In query;
  F32In key;
  F32In value;
  F32In mask;
  F32In g;
  F32In lse;
  F32In delta;
#if OA_KEYS
  F32Out dkey;
  F32Out dvalue;
#else
  F32Out dquery;
#endif
  uint heads;
  uint positions;
  uint width;
  float scale;
};
OA_PUSH(Args);

// Products of own rows 4 ty + i and other rows tx + 16 j to p, and of gradients to dz.
void weigh(Item item, uint other0, inout float scores[4][2], inout float gradients[4][2]) {
  uint length = args.positions;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    [[unroll]] for (uint j = 0; j < 2; ++j) {
      uint own = item.own0 + 4 * lane_y() + i, other = other0 + lane_x() + 16 * j;
      uint q = OA_KEYS != 0 ? other : own, k = OA_KEYS != 0 ? own : other;
      float p = 0.0, dz = 0.0;
      if (visible(q, k, length)) {
        float z = logit(scores[i][j], args.scale, F32In(args.mask), item.head, q, k, length);
        p = oa_exp(z - args.lse.v[item.head * length + q]);
        dz = p * (gradients[i][j] - args.delta.v[item.head * length + q]) * args.scale;
      }
      scores[i][j] = p;
      gradients[i][j] = dz;
    }
  }
}

void main() {
  uint length = args.positions, width = args.width;
  OA_FOR_EACH_ROW(i, item_count(args.heads, length, width)) {
    Item item = make_item(i, length, width);
    uint base = item.head * length * width;
    Rows query = Rows(args.query, base, length, width);
    Rows key = Rows(args.key, base, length, width);
    Rows value = Rows(args.value, base, length, width);
    Rows g = Rows(args.g, base, length, width);
    float sum[4][4], p[4][2], dz[4][2];
    clear(sum);
#if OA_KEYS
    float dvalue[4][4];
    clear(dvalue);
    uint begin = causal != 0u ? item.own0 / kOther * kOther : 0u;
    for (uint other0 = begin; other0 < length; other0 += kOther) {
      multiply_rows(key, item.own0, query, other0, p);
      multiply_rows(value, item.own0, g, other0, dz);
      weigh(item, other0, p, dz);
      store_tile(p);
      accumulate(g, other0, item.slice0, dvalue);
      store_tile(dz);
      accumulate(query, other0, item.slice0, sum);
    }
    store_slice(F32Out(args.dkey), query, item.own0, item.slice0, sum);
    store_slice(F32Out(args.dvalue), query, item.own0, item.slice0, dvalue);
#else
    uint end = causal != 0u ? min(length, item.own0 + kOwn) : length;
    for (uint other0 = 0; other0 < end; other0 += kOther) {
      multiply_rows(query, item.own0, key, other0, p);
      multiply_rows(g, item.own0, value, other0, dz);
      weigh(item, other0, p, dz);
      store_tile(dz);
      accumulate(key, other0, item.slice0, sum);
    }
    store_slice(F32Out(args.dquery), query, item.own0, item.slice0, sum);
#endif
  }
}
