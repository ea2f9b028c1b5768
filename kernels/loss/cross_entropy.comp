// cross_entropy: row losses, summed over blocks of consecutive rows.
//   loss[r] = ln(sum_c exp(x[r, c] - m)) + m - x[r, label[r]],  m = max_c x[r, c]
//   losses[p] = sum of loss[r] and counts[p] = number of rows r of block p that count:
//   label != ignore, or mask != 0 in the masked operator. A label outside [0, C) gives NaN.
// Shapes:   x [rows, columns], label, mask [rows], losses, counts [ceil(rows / rows_per_partial)].
// Cost:     reads 4 * rows * columns bytes once; one exponential per element.
// Numerics: sums of n terms within 2e-6 * sqrt(n) + 1e-5 relative; order fixed by the variant.
// Variants: a workgroup works on one row at a time; OA_NARROW: an invocation does, for few columns.
// Source:   ops.md section 4; one-pass softmax of Milakov & Gimelshein 2018.
#version 460
#include "loss/cross_entropy.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In logits;
  U32In labels;
  F32In mask;
  F32Out losses;
  U32Out counts;
  uint rows;
  uint columns;
  uint rows_per_partial;
  uint ignore;
};
OA_PUSH(Args);

#ifdef OA_NARROW
#define OA_FIRST_ROW gl_LocalInvocationID.x
#define OA_ROW_STEP OA_WG
#else
#define OA_FIRST_ROW 0
#define OA_ROW_STEP 1
#endif

float row_loss(F32In logits, uint base, uint columns, uint label) {
  RowSoftmax row = row_softmax(logits, base, columns);
  if (!in_range(label, columns)) return oa_nan();
  return oa_log(row.sum) + (row.largest - logits.v[base + label]);
}

void main() {
  F32In logits = args.logits;
  U32In labels = args.labels;
  F32In mask = args.mask;
  uint rows = args.rows;
  uint columns = args.columns;
  uint per_partial = max(args.rows_per_partial, 1u);
  uint partials = rows / per_partial + (rows % per_partial != 0 ? 1 : 0);
  OA_FOR_EACH_ROW(p, partials) {
    uint first = p * per_partial;
    uint end = rows - first > per_partial ? first + per_partial : rows;
    float loss = 0.0;
    uint count = 0;
    for (uint r = first + OA_FIRST_ROW; r < end; r = oa_advance(r, OA_ROW_STEP, end)) {
      uint label = load_label(labels, r);
      if (row_counts(mask, r, label, args.ignore)) {
        loss += row_loss(logits, r * columns, columns, label);
        ++count;
      }
    }
#ifdef OA_NARROW
    loss = workgroup_sum(loss);
    count = workgroup_sum(count);
#endif
    if (gl_LocalInvocationID.x == 0) {
      args.losses.v[p] = loss;
      args.counts.v[p] = count;
    }
  }
}
