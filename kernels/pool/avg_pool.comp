// avg_pool: y[p, i, j] = mean of x[p, h, w] over the part of window (i, j) inside x, or 0.
// Shapes:   x [planes, height, width], y [planes, out_height, out_width].
// Cost:     reads every cell once a window that holds it, from cache but the first time; writes 4
//           bytes an output.
// Numerics: F32 sums of row sums, in a fixed order.
#version 460
#include "pool/mean_window.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32Out y;
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
  uint width = args.width;
  Axis vertical = Axis(args.height, args.out_height, args.kernel_size, args.stride, args.padding);
  Axis horizontal = Axis(width, args.out_width, args.kernel_size, args.stride, args.padding);
  OA_FOR_EACH(t, args.planes * args.out_height * args.out_width) {
    Cell cell = cell_of(t, args.out_height, args.out_width);
    Span rows = mean_window(vertical, cell.row);
    Span columns = mean_window(horizontal, cell.column);
    uint plane = cell.plane * args.height;
    float sum = 0.0;
    for (uint h = rows.begin; h < rows.end; ++h) {
      uint base = (plane + h) * width;
      float row_sum = 0.0;
      for (uint w = columns.begin; w < columns.end; ++w) row_sum += x.v[base + w];
      sum += row_sum;
    }
    float count = float(span_size(rows)) * float(span_size(columns));
    y.v[t] = count > 0.0 ? sum / count : 0.0;
  }
}
