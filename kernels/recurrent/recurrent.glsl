// recurrent.glsl: one step of the RNN and GRU cells (gates 1 and 3) for one hidden unit, and its
// adjoint. The projection is p = weight_hh @ h + bias_hh; gates lie along [gates * hidden].
//   RNN:  h' = tanh(i + p)
//   GRU:  r = sig(i_r + p_r), z = sig(i_z + p_z), n = tanh(i_n + r p_n), h' = (1 - z) n + z h
// Source: Elman 1990; Cho et al. 2014, with the recurrent bias inside the product with r.
#ifndef OA_RECURRENT_GLSL_
#define OA_RECURRENT_GLSL_

#include "common/base.glsl"
#include "common/math.glsl"

layout(constant_id = 0) const uint gru = 0;
const uint gates = gru != 0u ? 3u : 1u;
// A constant number of turns, so that compilers keep what is indexed by g in registers.
#define OA_FOR_EACH_GATE(g) [[unroll]] for (uint g = 0; g < 3; ++g) if (g < gates)

// The gates of `unit` of a row that starts at element `row`; the RNN uses the first component.
vec3 load_gates(F32In x, uint row, uint unit, uint hidden) {
  vec3 result = vec3(0.0);
  OA_FOR_EACH_GATE(g) result[g] = x.v[row + g * hidden + unit];
  return result;
}

void store_gates(F32Out y, uint row, uint unit, uint hidden, vec3 x) {
  OA_FOR_EACH_GATE(g) y.v[row + g * hidden + unit] = x[g];
}

// The next state of a unit from its gates, its projection and its state.
float next_state(vec3 i, vec3 p, float h) {
  if (gru == 0u) return oa_tanh(i.x + p.x);
  float r = oa_sigmoid(i.x + p.x);
  float z = oa_sigmoid(i.y + p.y);
  float n = oa_tanh(fma(r, p.z, i.z));
  return fma(1.0 - z, n, z * h);
}

struct CellGradient {
  vec3 di;       // of the gates
  vec3 dp;       // of the projection
  float direct;  // of the state, without what flows through the projection
};

// From the gradient of the next state; `next` is that state (RNN), the others are for the GRU.
CellGradient cell_gradient(float g, float next, vec3 i, vec3 p, float h) {
  if (gru == 0u) {
    vec3 a = vec3(g * ((1.0 - next) * (1.0 + next)), 0.0, 0.0);
    return CellGradient(a, a, 0.0);
  }
  float r = oa_sigmoid(i.x + p.x);
  float z = oa_sigmoid(i.y + p.y);
  float n = oa_tanh(fma(r, p.z, i.z));
  float a_n = g * (1.0 - z) * ((1.0 - n) * (1.0 + n));
  float a_z = g * (h - n) * z * (1.0 - z);
  float a_r = a_n * p.z * r * (1.0 - r);
  return CellGradient(vec3(a_r, a_z, a_n), vec3(a_r, a_z, a_n * r), g * z);
}

#endif  // OA_RECURRENT_GLSL_
