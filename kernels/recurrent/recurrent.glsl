// recurrent.glsl: one step of the RNN and GRU cells (gates 1 and 3) for one hidden unit, and
// its adjoint. The projection is p = weight_hh @ h + bias_hh; gates lie along [gates * hidden].
//   RNN:  h' = tanh(i + p)
//   GRU:  r = sig(i_r + p_r), z = sig(i_z + p_z), n = tanh(i_n + r p_n), h' = (1 - z) n + z h
// Source: Elman 1990; Cho et al. 2014, with the recurrent bias inside the product with r.
#ifndef OA_RECURRENT_GLSL_
#define OA_RECURRENT_GLSL_

#include "common/base.glsl"
#include "common/math.glsl"

layout(constant_id = 0) const uint gru = 0;
const uint gates = gru != 0u ? 3u : 1u;

// Values of one unit by gate; the RNN uses the first.
struct Gates {
  float v[3];
};

Gates no_gates() { return Gates(float[3](0.0, 0.0, 0.0)); }

// The gates of `unit` of a row that starts at element `row`.
Gates load_gates(F32In x, uint row, uint unit, uint hidden) {
  Gates result = no_gates();
  [[unroll]] for (uint g = 0; g < gates; ++g) result.v[g] = x.v[row + g * hidden + unit];
  return result;
}

void store_gates(F32Out y, uint row, uint unit, uint hidden, Gates x) {
  [[unroll]] for (uint g = 0; g < gates; ++g) y.v[row + g * hidden + unit] = x.v[g];
}

// The next state of a unit from its gates, its projection and its state.
float next_state(Gates i, Gates p, float h) {
  if (gru == 0u) return oa_tanh(i.v[0] + p.v[0]);
  float r = oa_sigmoid(i.v[0] + p.v[0]);
  float z = oa_sigmoid(i.v[1] + p.v[1]);
  float n = oa_tanh(fma(r, p.v[2], i.v[2]));
  return fma(1.0 - z, n, z * h);
}

struct CellGradient {
  Gates di;      // of the gates
  Gates dp;      // of the projection
  float direct;  // of the state, without what flows through the projection
};

// From the gradient of the next state; `next` is that state (RNN), the others are for the GRU.
CellGradient cell_gradient(float g, float next, Gates i, Gates p, float h) {
  CellGradient d = CellGradient(no_gates(), no_gates(), 0.0);
  if (gru == 0u) {
    d.di.v[0] = g * ((1.0 - next) * (1.0 + next));
    d.dp = d.di;
    return d;
  }
  float r = oa_sigmoid(i.v[0] + p.v[0]);
  float z = oa_sigmoid(i.v[1] + p.v[1]);
  float n = oa_tanh(fma(r, p.v[2], i.v[2]));
  float a_n = g * (1.0 - z) * ((1.0 - n) * (1.0 + n));
  float a_z = g * (h - n) * z * (1.0 - z);
  float a_r = a_n * p.v[2] * r * (1.0 - r);
  d.di.v = float[3](a_r, a_z, a_n);
  d.dp.v = float[3](a_r, a_z, a_n * r);
  d.direct = g * z;
  return d;
}

#endif  // OA_RECURRENT_GLSL_
