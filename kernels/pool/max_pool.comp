// max_pool: y[p, i, j] = largest x[p, h, w] of the part of window (i, j) inside x, indices[..]
//   its offset in x. The first cell stays unless a later one is greater: ties go to the earliest,
//   and a NaN stays only in first place. Where no part is inside: -3.4028235e38 and 2^32-1.
// Shapes:   x [planes, height, width], y and indices U32 [planes, out_height, out_width].
// Cost:     reads every cell once a window that holds it, from cache but the first time; writes 8
//           bytes an output.
// Numerics: exact.
#version 460
#include "pool/pool.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32Out y;
  U32Out indices;
  uint planes;
  uint height;
  uint width;
  uint out_height;
  uint out_width;
  uint kernel_size;
  uint stride;
  uint padding;
};
OA_PUSH(Args);

void main() {
  F32In x = args.x;
  F32Out y = args.y;
  U32Out indices = args.indices;
  uint width = args.width;
  Axis vertical = Axis(args.height, args.out_height, args.kernel_size, args.stride, args.padding);
  Axis horizontal = Axis(width, args.out_width, args.kernel_size, args.stride, args.padding);
  OA_FOR_EACH(t, args.planes * args.out_height * args.out_width) {
    Cell cell = cell_of(t, args.out_height, args.out_width);
    Span rows = pool_window(vertical, cell.row);
    Span columns = pool_window(horizontal, cell.column);
    float best = uintBitsToFloat(0xff7fffffu);  // the lowest finite value
    uint where = 0xffffffffu;
    for (uint h = rows.begin; h < rows.end; ++h) {
      uint base = (cell.plane * args.height + h) * width;
      for (uint w = columns.begin; w < columns.end; ++w) {
        float value = x.v[base + w];
        if (where == 0xffffffffu || value > best) {
          best = value;
          where = base + w;
        }
      }
    }
    y.v[t] = best;
    indices.v[t] = where;
  }
}
