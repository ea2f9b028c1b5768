// elementwise: a short program of scalar operators applied to every element.
//   r[k] = input k at element i (k < 8);  r[8 + k] = op_k(r[a_k], r[b_k], s_k);  out_j = r[oreg_j]
// Shapes:   outputs hold `count` F32 elements. An input is linear (count elements), one scalar,
//           periodic ((i / div) % mod) or, in the strided kernels, addressed by one stride per axis
//           of `extents`. Inputs may be F32, U8, I32, U32 or BF16.
// Cost:     reads each input's elements and writes 4 * count bytes per output, once.
// Numerics: 2e-6 + 2e-6 |y| per operator (common/math.glsl).
// Variants: OA_SLOTS (4 or 16) is the longest program; inactive slots cost pipeline creation only.
//           _v4 kernels work on four elements at a time. They are right only if
//             * count % 4 == 0, and every F32-sized linear input and every output starts at a
//               multiple of 16 bytes,
//             * each periodic input has div % 4 == 0 (one value for four elements), or div == 1,
//               mod % 4 == 0, and it too starts at a multiple of 16 bytes,
//             * no input is strided.
// Errors:   every index that is not linear is clamped to the input's last element, so that no
//           argument block can make the kernel read outside its buffers.
#version 460
#include "common/elementwise.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In in0, in1, in2, in3, in4, in5, in6, in7;
  F32Out out0, out1, out2, out3;
  uint count;
  float s[16];
  uint div[8];
  uint mod[8];
  uint len[8];
#ifdef OA_STRIDED
  uint rank;
  uint extents[8];
  uint strides[64];
#endif
};
OA_PUSH(Args);

layout(constant_id = 0) const uint inputs = 0;
layout(constant_id = 1) const uint outputs = 0;
layout(constant_id = 2) const uint slots = 0;
layout(constant_id = 3) const uint mode0 = 0;
layout(constant_id = 4) const uint mode1 = 0;
layout(constant_id = 5) const uint mode2 = 0;
layout(constant_id = 6) const uint mode3 = 0;
layout(constant_id = 7) const uint mode4 = 0;
layout(constant_id = 8) const uint mode5 = 0;
layout(constant_id = 9) const uint mode6 = 0;
layout(constant_id = 10) const uint mode7 = 0;
layout(constant_id = 11) const uint type0 = 0;
layout(constant_id = 12) const uint type1 = 0;
layout(constant_id = 13) const uint type2 = 0;
layout(constant_id = 14) const uint type3 = 0;
layout(constant_id = 15) const uint type4 = 0;
layout(constant_id = 16) const uint type5 = 0;
layout(constant_id = 17) const uint type6 = 0;
layout(constant_id = 18) const uint type7 = 0;
layout(constant_id = 19) const uint code0 = 0;
layout(constant_id = 20) const uint code1 = 0;
layout(constant_id = 21) const uint code2 = 0;
layout(constant_id = 22) const uint code3 = 0;
layout(constant_id = 23) const uint code4 = 0;
layout(constant_id = 24) const uint code5 = 0;
layout(constant_id = 25) const uint code6 = 0;
layout(constant_id = 26) const uint code7 = 0;
layout(constant_id = 27) const uint code8 = 0;
layout(constant_id = 28) const uint code9 = 0;
layout(constant_id = 29) const uint code10 = 0;
layout(constant_id = 30) const uint code11 = 0;
layout(constant_id = 31) const uint code12 = 0;
layout(constant_id = 32) const uint code13 = 0;
layout(constant_id = 33) const uint code14 = 0;
layout(constant_id = 34) const uint code15 = 0;
layout(constant_id = 35) const uint oreg0 = 0;
layout(constant_id = 36) const uint oreg1 = 0;
layout(constant_id = 37) const uint oreg2 = 0;
layout(constant_id = 38) const uint oreg3 = 0;

#if OA_VEC == 4
#define OA_VALUE vec4
#else
#define OA_VALUE float
#endif

OA_VALUE registers[8 + OA_SLOTS];
OaPeriod periods[8];
float scalars[OA_SLOTS];

void run_slot(uint k, uint code) {
  uint op = code & 0xffu;
  uint a = (code >> 8) & 0xffu;
  uint b = (code >> 16) & 0xffu;
  registers[8 + k] = oa_apply(op, registers[a], registers[b], scalars[k]);
}

#ifdef OA_STRIDED
uint extents[8];
float inverse_extents[8];
uint strides[64];

// Sum over the axes of output element i's coordinate times the stride of input k.
uint strided_index(uint k, uint i) {
  uint index = 0;
  [[unroll]] for (int axis = 7; axis >= 0; --axis) {
    if (axis < args.rank) {
      uint outer = oa_divide(i, extents[axis], inverse_extents[axis]);
      index += (i - outer * extents[axis]) * strides[k * 8 + axis];
      i = outer;
    }
  }
  return min(index, periods[k].last);
}
#endif

uint index_of(uint k, uint mode, uint i) {
#ifdef OA_STRIDED
  if (mode == OA_EW_STRIDED) return strided_index(k, i);
#endif
  return oa_index(mode, i, periods[k]);
}

#if OA_VEC == 4
// Elements 4 i .. 4 i + 3.
vec4 load(F32In x, uint k, uint mode, uint type, uint i) {
  if (mode == OA_EW_SCALAR) return vec4(oa_load(x, type, 0));
  uint first = index_of(k, mode, 4 * i);
  if (mode == OA_EW_PERIODIC && periods[k].div != 1u) return vec4(oa_load(x, type, first));
  switch (type) {
    case OA_EW_TYPE_U8: return vec4(unpackUnorm4x8(U8In(x).words[first >> 2]) * 255.0);
    case OA_EW_TYPE_BF16: {
      uvec2 pair = uvec2(Bf16In(x).words[first >> 1], Bf16In(x).words[(first >> 1) + 1]);
      return uintBitsToFloat(uvec4(pair.x << 16, pair.x & 0xffff0000u, pair.y << 16,
                                   pair.y & 0xffff0000u));
    }
    case OA_EW_TYPE_I32: return vec4(floatBitsToInt(F32x4In(x).v[first >> 2]));
    case OA_EW_TYPE_U32: return vec4(floatBitsToUint(F32x4In(x).v[first >> 2]));
  }
  return F32x4In(x).v[first >> 2];
}
void store(F32Out y, uint i, vec4 value) { F32x4Out(y).v[i] = value; }
#else
float load(F32In x, uint k, uint mode, uint type, uint i) {
  return oa_load(x, type, index_of(k, mode, i));
}
void store(F32Out y, uint i, float value) { y.v[i] = value; }
#endif

#define OA_PREPARE(k) if (k < inputs) periods[k] = oa_period(args.div[k], args.mod[k], args.len[k]);
#define OA_LOAD(k) if (k < inputs) registers[k] = load(in##k, k, mode##k, type##k, i);
#define OA_SCALAR(k) if (k < slots) scalars[k] = args.s[k];
#define OA_STEP(k) if (k < slots) run_slot(k, code##k);
#define OA_STORE(k) if (k < outputs) store(out##k, i, registers[oreg##k]);

void main() {
  // Everything from the argument block is read once: stores below could alias it for the compiler.
  uint items = args.count / OA_VEC;
  F32In in0 = args.in0, in1 = args.in1, in2 = args.in2, in3 = args.in3;
  F32In in4 = args.in4, in5 = args.in5, in6 = args.in6, in7 = args.in7;
  F32Out out0 = args.out0, out1 = args.out1, out2 = args.out2, out3 = args.out3;
  OA_PREPARE(0) OA_PREPARE(1) OA_PREPARE(2) OA_PREPARE(3)
  OA_PREPARE(4) OA_PREPARE(5) OA_PREPARE(6) OA_PREPARE(7)
  OA_SCALAR(0) OA_SCALAR(1) OA_SCALAR(2) OA_SCALAR(3)
#if OA_SLOTS > 4
  OA_SCALAR(4) OA_SCALAR(5) OA_SCALAR(6) OA_SCALAR(7)
  OA_SCALAR(8) OA_SCALAR(9) OA_SCALAR(10) OA_SCALAR(11)
  OA_SCALAR(12) OA_SCALAR(13) OA_SCALAR(14) OA_SCALAR(15)
#endif
#ifdef OA_STRIDED
  [[unroll]] for (int axis = 0; axis < 8; ++axis) {
    extents[axis] = max(args.extents[axis], 1u);
    inverse_extents[axis] = oa_inverse(extents[axis]);
  }
  [[unroll]] for (int j = 0; j < 64; ++j) strides[j] = args.strides[j];
#endif
  OA_FOR_EACH(i, items) {
    OA_LOAD(0) OA_LOAD(1) OA_LOAD(2) OA_LOAD(3) OA_LOAD(4) OA_LOAD(5) OA_LOAD(6) OA_LOAD(7)
    OA_STEP(0) OA_STEP(1) OA_STEP(2) OA_STEP(3)
#if OA_SLOTS > 4
    OA_STEP(4) OA_STEP(5) OA_STEP(6) OA_STEP(7) OA_STEP(8) OA_STEP(9)
    OA_STEP(10) OA_STEP(11) OA_STEP(12) OA_STEP(13) OA_STEP(14) OA_STEP(15)
#endif
    OA_STORE(0) OA_STORE(1) OA_STORE(2) OA_STORE(3)
  }
}
