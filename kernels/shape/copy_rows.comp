// copy_rows: for each record, y[r, dst_offset + j] = x[r, src_offset + j] for j < run. One record
//   is a slice, several are a concatenation.
// Shapes:   x [rows, src_stride] of each record, y [rows, dst_stride], 32-bit words. With OA_VEC 4
//           strides, offsets and runs count vectors of four words, and buffers start at multiples
//           of 16 bytes.
// Cost:     reads and writes 4 bytes a word.
// Numerics: exact.
#version 460
#include "shape/words.glsl"

OA_LOCAL_SIZE(OA_WG);

struct Record {
  WordsIn x;
  uint src_stride;
  uint src_offset;
  uint dst_offset;
  uint run;
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  WordsOut y;
  uint record_count;
  uint rows;
  uint dst_stride;
  Record records[];
};
OA_PUSH(Args);

void main() {
  WordsOut y = args.y;
  uint record_count = args.record_count, rows = args.rows, dst_stride = args.dst_stride;
  for (uint k = 0; k < record_count; ++k) {
    Record record = args.records[k];
    // A record that leaves its rows of y copies nothing.
    bool fits = record.dst_offset <= dst_stride && record.run <= dst_stride - record.dst_offset;
    uint count = fits ? oa_mul_saturated(rows, record.run) : 0u;
    OA_FOR_EACH(i, count) {
      uint r = i / record.run;
      uint j = i - r * record.run;
      y.v[r * dst_stride + record.dst_offset + j] =
          record.x.v[r * record.src_stride + record.src_offset + j];
    }
  }
}
