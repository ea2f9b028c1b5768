// norm: y = xhat * weight (+ bias) along the middle axis, xhat = (x - mean) * rstd; gated: times
//   silu(gate); rectified: max(y, 0). Not centred: mean = 0 (rms_norm). x is what the prologue
//   makes; behind y comes the epilogue.
// Shapes:   x, gate, y [outer, extent, inner], weight, bias [groups, extent]; column q takes the
//           weights of group q mod groups.
// Cost:     reads x from memory once (again, twice when centred, from caches), writes it once;
//           8 flops an element, 30 gated.
// Numerics: F32, sums over lanes in a fixed order; relative 1e-5.
#version 460
#include "common/epilogue.glsl"
#include "common/prologue.glsl"
#include "norm/columns.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In weight;
  U32In bias;
  U32In gate;
  uint outer;
  uint extent;
  uint inner;
  uint groups;
  float epsilon;
  OA_PROLOGUE_ARGUMENTS
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_PROLOGUE_CODE
OA_EPILOGUE_CODE
#include "reduce/column_fusion.glsl"

vec4 load_x(Column c, uint k, float absent, bool last) {
  return column_operand(c.base, c.count, c.inner, k, absent, last);
}

vec4 finish(Column c, uint k, vec4 y) {
  if (has_bias != 0u) y += load_weight(U32In(args.bias), c, k);
  if (gated != 0u) y *= oa_silu(load(U32In(args.gate), c, k, 0.0));
  // Not max: NaN stays NaN.
  return rectified != 0u ? mix(y, vec4(0.0), lessThan(y, vec4(0.0))) : y;
}

void main() {
  uint extent = args.extent, inner = args.inner;
  oa_prologue_prepare();
  oa_epilogue_prepare();
  uint columns = oa_mul_saturated(column_outer(args.outer, extent, inner), inner);
  OA_FOR_EACH_ROW(tile, column_tiles(columns)) {
    uint q = tile * max(width, 1u) + column_slot();
    Column c = make_column(q, columns, extent, inner, args.groups);
    Statistics s = column_statistics(c, extent, args.epsilon);
    uint used = column_blocks(c.count);
    for (uint k = 0; k < used; ++k) {
      vec4 xhat = normalise(load_x(c, k, 0.0, true), s);
      vec4 y = finish(c, k, xhat * load_weight(U32In(args.weight), c, k));
      column_result(c.base, c.count, c.inner, k, y);
    }
  }
}
