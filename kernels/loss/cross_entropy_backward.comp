// cross_entropy_backward: dx[r, c] = g / V * (exp(x[r, c] - m) / sum_c exp(x[r, c] - m) - onehot).
//   Rows that do not count give 0, rows with a label outside [0, C) NaN.
//   V = rows_counted[0], or the host's `divisor` in the masked operator.
// Shapes:   x, dx [rows, columns], label, mask [rows], g, rows_counted [1].
// Cost:     reads x twice (the second time from cache), writes 4 * rows * columns bytes.
// Numerics: as softmax: 1e-5 relative, 2e-6 * sqrt(columns) * |g| / V absolute.
// Variants: a workgroup works on one row at a time; OA_NARROW: an invocation does, for few columns.
#version 460
#include "loss/cross_entropy.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In logits;
  U32In labels;
  F32In mask;
  U32In rows_counted;
  F32Out dlogits;
  uint rows;
  uint columns;
  uint ignore;
  uint divisor;
};
OA_PUSH(Args);

void fill_row(F32Out dlogits, uint base, uint columns, float value) {
  OA_ROW_COLUMNS(c, columns) dlogits.v[base + c] = value;
}

void softmax_row(F32In logits, F32Out dlogits, uint base, uint columns, uint label, float scale) {
  RowSoftmax row = row_softmax(logits, base, columns);
  float inverse = 1.0 / row.sum;
  OA_ROW_COLUMNS(c, columns) {
    float p = oa_exp(logits.v[base + c] - row.largest) * inverse;
    dlogits.v[base + c] = scale * (c == label ? p - 1.0 : p);
  }
}

#ifdef OA_NARROW
#define OA_ROWS(r, rows) OA_FOR_EACH(r, rows)
#else
#define OA_ROWS(r, rows) OA_FOR_EACH_ROW(r, rows)
#endif

void main() {
  F32In logits = args.logits;
  U32In labels = args.labels;
  F32In mask = args.mask;
  F32Out dlogits = args.dlogits;
  uint columns = args.columns;
  uint counted = masked != 0 ? args.divisor : args.rows_counted.v[0];
  float scale = args.g.v[0] / float(counted);  // used only if some row counts
  OA_ROWS(r, args.rows) {
    uint label = load_label(labels, r);
    uint base = r * columns;
    if (!row_counts(mask, r, label, args.ignore)) {
      fill_row(dlogits, base, columns, 0.0);
    } else if (in_range(label, columns)) {
      softmax_row(logits, dlogits, base, columns, label, scale);
    } else {
      fill_row(dlogits, base, columns, oa_nan());
    }
  }
}
