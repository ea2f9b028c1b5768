// upsample_backward: dx[p, h, w] = sum of g[p, i, j] times the weight with which (i, j) reads
//   (h, w).
// Shapes:   g [planes, height * scale, width * scale], dx [planes, height, width].
// Cost:     reads every gradient once (bilinear: 4 times, from cache but the first); writes 4 bytes
//           a cell.
// Numerics: F32 sums of row sums, in a fixed order; an invocation owns a cell.
#version 460
#include "pool/upsample.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32Out dx;
  uint planes;
  uint height;
  uint width;
  uint scale;
};
OA_PUSH(Args);

void main() {
  F32In g = args.g;
  F32Out dx = args.dx;
  uint height = args.height, width = args.width, scale = args.scale;
  OA_FOR_EACH(t, args.planes * height * width) {
    Cell cell = cell_of(t, height, width);
    Span rows = readers_of(cell.row, height, scale);
    Span columns = readers_of(cell.column, width, scale);
    float sum = 0.0;
    for (uint i = rows.begin; i < rows.end; ++i) {
      uint base = (cell.plane * height * scale + i) * (width * scale);
      float row_sum = 0.0;
      for (uint j = columns.begin; j < columns.end; ++j) {
        row_sum += weight_of(source_of(j, width, scale), cell.column) * g.v[base + j];
      }
      sum += weight_of(source_of(i, height, scale), cell.row) * row_sum;
    }
    dx.v[t] = sum;
  }
}
