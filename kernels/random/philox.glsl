// philox.glsl: counter-based random numbers, Philox4x32-10. A block of four words is a pure
// function of its counter (block, stream, replay) and a 64-bit seed, so any invocation can draw any
// block, and a replay with the same replay counter draws the same numbers.
// Source: Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
#ifndef OA_RANDOM_PHILOX_GLSL_
#define OA_RANDOM_PHILOX_GLSL_

const uint kUniformStream = 0;
const uint kNormalStream = 1;
const float kUnit24 = 5.9604644775390625e-8;  // 2^-24

uvec4 philox(uvec4 x, uvec2 key) {
  [[unroll]] for (uint round = 0; round < 10; ++round) {
    uint high0, low0, high1, low1;
    umulExtended(0xd2511f53u, x.x, high0, low0);
    umulExtended(0xcd9e8d57u, x.z, high1, low1);
    x = uvec4(high1 ^ x.y ^ key.x, low1, high0 ^ x.w ^ key.y, low0);
    key += uvec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return x;
}

// Extents are below 2^32, so the upper word of the block number is 0.
uvec4 random_block(uint block, uint stream, uint replay, uvec2 seed) {
  return philox(uvec4(block, 0u, stream, replay), seed);
}

// In [0, 1), multiples of 2^-24.
vec4 random_units(uint block, uint replay, uvec2 seed) {
  return vec4(random_block(block, kUniformStream, replay, seed) >> 8) * kUnit24;
}

#endif  // OA_RANDOM_PHILOX_GLSL_
