// flash: y[q, :] = sum_k softmax_k(z[q, k]) value[k, :] with z = scale query . key (+ mask), keys
//   behind the query left out when causal, and lse[q] = log sum_k exp z[q, k]. A query whose z are
//   all -inf gives zeros and an lse of +inf.
// Shapes:   query, key, value, y [heads, length, width], mask [heads * length, length],
//           lse [heads, length].
// Cost:     4 heads length^2 width flops, half of them when causal (more for width > 64, see
//           flash.glsl); no scores in memory.
// Numerics: F32, keys ascending in tiles of 32, rescaled as the maximum grows.
#version 460
#include "attention/flash.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In query;
  F32In key;
  F32In value;
  F32In mask;
  F32Out y;
  F32Out lse;
  uint heads;
  uint positions;
  uint width;
  float scale;
};
OA_PUSH(Args);

// Of each own row: the largest z so far, the sum of exp(z - largest), the factor of the last tile.
shared float row_max[kOwn];
shared float row_sum[kOwn];
shared float factor[kOwn];
shared float part_max[OA_WG];
shared float part_sum[OA_WG];

const float kLowest = -3.4028235e38;  // finite, so that -inf - kLowest is no NaN
const uint kParts = 4;                // invocations a row
const uint kPartColumns = kOther / kParts;

void write_logits(Item item, uint other0, float acc[4][2], uint length) {
  float z[4][2];
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    [[unroll]] for (uint j = 0; j < 2; ++j) {
      uint q = item.own0 + 4 * lane_y() + i, k = other0 + lane_x() + 16 * j;
      z[i][j] = -oa_infinity();
      if (visible(q, k, length)) {
        z[i][j] = logit(acc[i][j], args.scale, F32In(args.mask), item.head, q, k, length);
      }
    }
  }
  store_tile(z);
}

// Turns the tile of z into exp(z - largest so far) and moves the sums of its rows on.
void soften_tile() {
  uint lane = gl_LocalInvocationID.x, row = lane / kParts;
  uint at = row * kTileStride + lane % kParts * kPartColumns;
  float largest = kLowest;
  barrier();
  [[unroll]] for (uint c = 0; c < kPartColumns; ++c) largest = max(largest, tile[at + c]);
  part_max[lane] = largest;
  barrier();
  float before = row_max[row];
  largest = before;
  [[unroll]] for (uint p = 0; p < kParts; ++p) largest = max(largest, part_max[row * kParts + p]);
  float sum = 0.0;
  [[unroll]] for (uint c = 0; c < kPartColumns; ++c) {
    float e = oa_exp(tile[at + c] - largest);
    tile[at + c] = e;
    sum += e;
  }
  part_sum[lane] = sum;
  if (lane % kParts == 0u) factor[row] = oa_exp(before - largest);
  barrier();
  if (lane % kParts == 0u) {
    float total = row_sum[row] * factor[row];
    [[unroll]] for (uint p = 0; p < kParts; ++p) total += part_sum[lane + p];
    row_sum[row] = total;
    row_max[row] = largest;
  }
}

void store_item(Item item, Rows shape, float sum[4][4]) {
  barrier();
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    float total = row_sum[4 * lane_y() + i];
    float inverse = total == 0.0 ? 0.0 : 1.0 / total;
    [[unroll]] for (uint j = 0; j < 4; ++j) sum[i][j] *= inverse;
  }
  store_slice(F32Out(args.y), shape, item.own0, item.slice0, sum);
  uint row = gl_LocalInvocationID.x;
  if (item.slice0 == 0u && row < kOwn && item.own0 + row < shape.positions) {
    float total = row_sum[row];
    args.lse.v[item.head * shape.positions + item.own0 + row] =
        total == 0.0 ? oa_infinity() : row_max[row] + oa_log(total);
  }
  barrier();
}

void main() {
  uint length = args.positions, width = args.width;
  OA_FOR_EACH_ROW(i, item_count(args.heads, length, width)) {
    Item item = make_item(i, length, width);
    uint base = item.head * length * width;
    Rows query = Rows(args.query, base, length, width);
    Rows key = Rows(args.key, base, length, width);
    Rows value = Rows(args.value, base, length, width);
    float sum[4][4];
    clear(sum);
    if (gl_LocalInvocationID.x < kOwn) {
      row_max[gl_LocalInvocationID.x] = kLowest;
      row_sum[gl_LocalInvocationID.x] = 0.0;
    }
    uint end = causal != 0u ? min(length, item.own0 + kOwn) : length;
    for (uint other0 = 0; other0 < end; other0 += kOther) {
      float acc[4][2];
      multiply_rows(query, item.own0, key, other0, acc);
      write_logits(item, other0, acc, length);
      soften_tile();
      [[unroll]] for (uint r = 0; r < 4; ++r) {
        [[unroll]] for (uint j = 0; j < 4; ++j) sum[r][j] *= factor[4 * lane_y() + r];
      }
      accumulate(value, other0, item.slice0, sum);
    }
    store_item(item, query, sum);
  }
}
