// mean_window.glsl: the windows of average pooling: of fixed size, or (adaptive) bins that divide
// an axis evenly and may overlap.
#ifndef OA_POOL_MEAN_WINDOW_GLSL_
#define OA_POOL_MEAN_WINDOW_GLSL_

#include "pool/pool.glsl"

layout(constant_id = 0) const uint adaptive = 0;

// floor(i * extent / parts) .. ceil((i + 1) * extent / parts). Bins of cells and the bins that
// hold a cell follow the same rule. The operator refuses extents whose product exceeds 2^32-1.
Span even_part(uint i, uint extent, uint parts) {
  uint end = (i + 1u) * extent;
  return Span(i * extent / parts, end / parts + uint(end % parts != 0u));
}

Span mean_window(Axis axis, uint i) {
  if (adaptive != 0u) return even_part(i, axis.extent, axis.out_extent);
  return pool_window(axis, i);
}

Span mean_covering(Axis axis, uint p) {
  if (adaptive != 0u) return even_part(p, axis.out_extent, axis.extent);
  return pool_covering(axis, p);
}

#endif  // OA_POOL_MEAN_WINDOW_GLSL_
