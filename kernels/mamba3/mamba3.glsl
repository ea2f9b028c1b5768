// mamba3.glsl: layout and helpers that the Mamba-3 scan kernels share.
//
// The scans run head by head over chunks of tokens (Mamba-2's "state space duality", Dao and Gu
// 2024, with Mamba-3's trapezoidal weights and rotations): within a chunk they are products of
// small matrices, between chunks a scan over states. Arrays of the scan are head-major and padded,
// [batch * heads, slots, ranks, ..] with slots = chunks * chunk >= length, so that a chunk is one
// dense matrix of chunk * ranks rows. Operands and results stay token-major, [batch, length, ..].
//
// Per token and head, `gates` holds: what multiplies what.
#ifndef OA_MAMBA3_GLSL_
#define OA_MAMBA3_GLSL_

#include "common/base.glsl"
#include "common/math.glsl"

const uint kGates = 6;       // floats a token
const uint kLogDecay = 0;    // sum of adt from the chunk's start through the token, in two floats
const uint kLogDecayLow = 1;
const uint kOwn = 2;         // gamma: the token's weight in its own readout
const uint kScale = 3;       // the token's weight in the state, with the share of the next token
const uint kFromEntry = 4;   // decay from the chunk's entry to the token
const uint kToExit = 5;      // kScale times the decay from the token to the chunk's exit

// The decay of everything over tokens s+1 .. t of one chunk, 1 for s == t. From the difference: the
// factors of t and s alone would overflow.
float decay_between(F32In gates, uint t, uint s) {
  uint a = t * kGates, b = s * kGates;
  float high = gates.v[a + kLogDecay] - gates.v[b + kLogDecay];
  return oa_exp(high + (gates.v[a + kLogDecayLow] - gates.v[b + kLogDecayLow]));
}

// high + low += x, without losing what rounds away (Knuth's two-sum).
void add_compensated(inout float high, inout float low, float x) {
  precise float sum = high + x;
  precise float part = sum - high;
  precise float lost = (high - (sum - part)) + (x - part);
  high = sum;
  low += lost;
}

// The same sum modulo 2 pi: 6.28125 and the second constant have so few bits that their products
// with a turn count are exact.
void wrap_angle(inout float high, inout float low) {
  float turns = roundEven((high + low) * 0.15915494);
  precise float rest = high - turns * 6.28125;
  high = rest;
  add_compensated(high, low, -turns * 1.93500518798828125e-3);
  add_compensated(high, low, -turns * 3.0199159819575e-7);
}

// high + low += x * y, with the product's rounding error (Dekker 1971; fma need not be fused).
void add_product(inout float high, inout float low, float x, float y) {
  precise float product = x * y;
  float x1 = oa_upper_half(x), y1 = oa_upper_half(y);
  precise float x2 = x - x1;
  precise float y2 = y - y1;
  precise float lost = ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2;
  add_compensated(high, low, product);
  low += lost;
}

// The pair (x, y) of the state axis turned by an angle, and back.
vec2 rotate(vec2 v, float c, float s) { return vec2(v.x * c - v.y * s, v.x * s + v.y * c); }
vec2 rotate_back(vec2 v, float c, float s) { return vec2(v.x * c + v.y * s, v.y * c - v.x * s); }

#endif  // OA_MAMBA3_GLSL_
