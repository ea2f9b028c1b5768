// pool.glsl: which input cells an output averages or compares, and which outputs read an input
// cell, along one axis.
//
// Windows are computed in the padded axis, where position p is input cell p - padding: everything
// is at most extent + 2 * padding, so nothing is negative and nothing wraps.
#ifndef OA_POOL_POOL_GLSL_
#define OA_POOL_POOL_GLSL_

#include "common/base.glsl"

struct Axis {
  uint extent;
  uint out_extent;
  uint kernel_size;
  uint stride;
  uint padding;
};

struct Span {  // begin <= x < end; empty when end <= begin
  uint begin;
  uint end;
};

uint span_size(Span span) { return span.end - min(span.begin, span.end); }

Span pool_window(Axis axis, uint i) {
  uint first = i * axis.stride;
  uint begin = max(first, axis.padding);
  uint end = min(first + axis.kernel_size, axis.padding + axis.extent);
  return Span(begin - axis.padding, max(end, begin) - axis.padding);
}

Span pool_covering(Axis axis, uint p) {
  uint at = p + axis.padding;
  uint begin = at >= axis.kernel_size ? (at - axis.kernel_size) / axis.stride + 1u : 0u;
  return Span(begin, min(at / axis.stride + 1u, axis.out_extent));
}

// Cell t of planes of height * width cells.
struct Cell {
  uint plane;
  uint row;
  uint column;
};

Cell cell_of(uint t, uint height, uint width) {
  uint line = t / width;
  uint plane = line / height;
  return Cell(plane, line - plane * height, t - line * width);
}

#endif  // OA_POOL_POOL_GLSL_
