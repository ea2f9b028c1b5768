// cross_entropy.glsl: what the cross entropy kernels agree on: which rows count, and the softmax of
// one row by a workgroup or, in narrow variants (OA_NARROW), by one invocation.
#ifndef OA_LOSS_CROSS_ENTROPY_GLSL_
#define OA_LOSS_CROSS_ENTROPY_GLSL_

#include "common/base.glsl"
#include "common/math.glsl"
#include "common/reduce.glsl"

layout(constant_id = 0) const uint label_type = 1;  // number of the dtype enumeration
layout(constant_id = 1) const uint has_ignore = 0;
layout(constant_id = 2) const uint masked = 0;

const uint kLabelI32 = 1, kLabelU8 = 3;

uint load_label(U32In labels, uint r) {
  return label_type == kLabelU8 ? oa_load_u8(U8In(labels), r) : labels.v[r];
}

bool row_counts(F32In mask, uint r, uint label, uint ignore) {
  if (masked != 0) return mask.v[r] != 0.0;
  return has_ignore == 0 || label != ignore;
}

bool in_range(uint label, uint columns) {
  return label < columns && (label_type != kLabelI32 || int(label) >= 0);
}

#ifdef OA_NARROW
#define OA_ROW_COLUMNS(c, columns) for (uint c = 0; c < columns; ++c)
#else
#define OA_ROW_COLUMNS(c, columns) OA_FOR_EACH_COLUMN(c, columns)
#endif

// Maximum m of a row and the sum of exp(x - m), in one pass: the sum is rescaled when m grows.
struct RowSoftmax {
  float largest;
  float sum;
};

RowSoftmax row_softmax(F32In logits, uint base, uint columns) {
  float m = -3.4028235e38;  // finite, so that -inf - m is no NaN
  float sum = 0.0;
  OA_ROW_COLUMNS(c, columns) {
    float x = logits.v[base + c];
    float e = oa_exp(-abs(x - m));
    sum = x > m ? fma(sum, e, 1.0) : sum + e;
    m = max(m, x);
  }
#ifdef OA_NARROW
  return RowSoftmax(m, sum);
#else
  float largest = workgroup_max(m);
  return RowSoftmax(largest, workgroup_sum(sum * oa_exp(m - largest)));
#endif
}

#endif  // OA_LOSS_CROSS_ENTROPY_GLSL_
