// max_pool_backward: dx[c] = sum of g over the outputs whose window holds cell c and whose index is
//   c.
// Shapes:   g, indices U32 [planes, out_height, out_width], dx [planes, height, width].
// Cost:     reads 8 bytes an output once a cell of its window, from cache but the first time;
//           writes 4 bytes a cell.
// Numerics: F32 sums in a fixed order; an invocation owns a cell.
#version 460
#include "pool/pool.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  U32In indices;
  F32Out dx;
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
  F32In g = args.g;
  U32In indices = args.indices;
  F32Out dx = args.dx;
  uint out_width = args.out_width;
  Axis vertical = Axis(args.height, args.out_height, args.kernel_size, args.stride, args.padding);
  Axis horizontal = Axis(args.width, out_width, args.kernel_size, args.stride, args.padding);
  OA_FOR_EACH(t, args.planes * args.height * args.width) {
    Cell cell = cell_of(t, args.height, args.width);
    Span rows = pool_covering(vertical, cell.row);
    Span columns = pool_covering(horizontal, cell.column);
    uint plane = cell.plane * args.out_height;
    float sum = 0.0;
    for (uint i = rows.begin; i < rows.end; ++i) {
      uint base = (plane + i) * out_width;
      for (uint j = columns.begin; j < columns.end; ++j) {
        if (indices.v[base + j] == t) sum += g.v[base + j];
      }
    }
    dx.v[t] = sum;
  }
}
