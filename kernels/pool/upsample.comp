// upsample: y[p, i, j] = x[p, i / scale, j / scale], or (bilinear) the weighted mean of the two by
//   two cells around the centre of (i, j), corners not aligned.
// Shapes:   x [planes, height, width], y [planes, height * scale, width * scale].
// Cost:     reads every cell scale^2 times (bilinear: 4 * scale^2), from cache but the first time;
//           writes 4 bytes an output.
// Numerics: nearest: exact. bilinear: 2e-6 relative to the largest of the four cells.
#version 460
#include "pool/upsample.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32Out y;
  uint planes;
  uint height;
  uint width;
  uint scale;
};
OA_PUSH(Args);

void main() {
  F32In x = args.x;
  F32Out y = args.y;
  uint height = args.height, width = args.width, scale = args.scale;
  OA_FOR_EACH(t, args.planes * height * scale * width * scale) {
    Cell cell = cell_of(t, height * scale, width * scale);
    Source row = source_of(cell.row, height, scale);
    Source column = source_of(cell.column, width, scale);
    uint low = (cell.plane * height + row.low) * width;
    if (bilinear == 0u) {
      y.v[t] = x.v[low + column.low];
      continue;
    }
    uint high = (cell.plane * height + row.high) * width;
    float f = column.fraction;
    float above = (1.0 - f) * x.v[low + column.low] + f * x.v[low + column.high];
    float below = (1.0 - f) * x.v[high + column.low] + f * x.v[high + column.high];
    y.v[t] = (1.0 - row.fraction) * above + row.fraction * below;
  }
}
