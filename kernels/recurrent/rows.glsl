// rows.glsl: four elements of a row at once, whatever its length.
#ifndef OA_RECURRENT_ROWS_GLSL_
#define OA_RECURRENT_ROWS_GLSL_

#include "common/base.glsl"

// 1: the rows of every operand start at multiples of four elements.
layout(constant_id = 1) const uint quads = 0;

// Elements k .. k + 3 of a row of n elements that starts at `row`; 0 behind its end.
vec4 load4(F32In x, uint row, uint k, uint n) {
  vec4 value;
  if (quads != 0u) {
    value = F32x4In(x).v[(row + k) >> 2];
  } else {
    uvec4 own = k + uvec4(0, 1, 2, 3);
    uvec4 at = row + min(own, uvec4(n - 1u));
    value = vec4(x.v[at.x], x.v[at.y], x.v[at.z], x.v[at.w]);
    value = mix(vec4(0.0), value, lessThan(own, uvec4(n)));
  }
  return value;
}

#endif  // OA_RECURRENT_ROWS_GLSL_
