// preprocess.glsl: how a row of the packed projection is cut, and the step size of a head.
#ifndef OA_MAMBA3_PREPROCESS_GLSL_
#define OA_MAMBA3_PREPROCESS_GLSL_

#include "common/reduce.glsl"
#include "common/math.glsl"

// Where each slice of a row starts: z, x, B, C, dd_dt, dd_a, trap, angle.
struct Slices {
  uint x, b, c, dd_dt, dd_a, trap, angle, end;
};

Slices slices(uint inner, uint state, uint heads, uint angles, uint rows) {
  uint b = 2 * inner, c = b + rows * state, dd_dt = c + rows * state;
  uint trap = dd_dt + 2 * heads, angle = trap + heads;
  return Slices(inner, b, c, dd_dt, dd_dt + heads, trap, angle, angle + angles);
}

// dt and the two factors of adt of one head.
struct StepSize {
  float raw;    // dd_dt + dt_bias
  float soft;   // softplus(raw)
  float dt;     // clamped
  float heavy;  // -A before its floor
  float a;      // A per token
};

// max and min of the host's order: NaN stays NaN.
float at_least(float x, float bound) { return x < bound ? bound : x; }
float at_most(float x, float bound) { return x > bound ? bound : x; }

StepSize step_size(float dd_dt, float bias, float dd_a, float dt_min, float dt_max, float floor_a) {
  StepSize s;
  s.raw = dd_dt + bias;
  s.soft = oa_softplus(s.raw);
  s.dt = at_most(at_least(s.soft, dt_min), dt_max);
  s.heavy = dd_a >= 0.0 ? 1.0 + dd_a : 1.0 / (1.0 - dd_a);
  s.a = at_most(-s.heavy, -floor_a);
  return s;
}

#endif  // OA_MAMBA3_PREPROCESS_GLSL_
