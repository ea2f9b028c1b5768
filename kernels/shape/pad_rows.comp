// pad_rows: y[r, j] = x[r, j - offset] for offset <= j < offset + run, 0 elsewhere.
// Shapes:   x [rows, run], y [rows, stride], 32-bit words. With OA_VEC 4 run, stride and offset
//           count vectors of four words, and buffers start at multiples of 16 bytes.
// Cost:     reads 4 * rows * run bytes, writes 4 * rows * stride.
// Numerics: exact.
#version 460
#include "shape/words.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  WordsIn x;
  WordsOut y;
  uint rows;
  uint stride;
  uint offset;
  uint run;
};
OA_PUSH(Args);

void main() {
  WordsIn x = args.x;
  WordsOut y = args.y;
  uint stride = max(args.stride, 1u), offset = args.offset, run = args.run;
  OA_FOR_EACH(i, oa_mul_saturated(args.rows, args.stride)) {
    uint r = i / stride;
    uint j = i - r * stride - offset;  // wraps to a large number in front of offset
    OA_WORD value = OA_WORD(0u);
    if (j < run) value = x.v[r * run + j];
    y.v[i] = value;
  }
}
