// base.glsl: what every kernel includes first: buffer types, the argument block, grid loops.
//
// Buffers are 64-bit addresses; `F32In x;` in an argument block is read as `args.x.v[i]`.
// Loops stride over the whole grid, so that every grid computes the same result.
#ifndef OA_COMMON_BASE_GLSL_
#define OA_COMMON_BASE_GLSL_

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_control_flow_attributes : require
#ifdef OA_CPU
#extension GL_KHR_shader_subgroup_basic : require
#endif

#define OA_BUFFER(name, element, alignment)                                              \
  layout(buffer_reference, std430, buffer_reference_align = alignment) readonly buffer   \
      name##In { element v[]; };                                                         \
  layout(buffer_reference, std430, buffer_reference_align = alignment) writeonly buffer  \
      name##Out { element v[]; };                                                        \
  layout(buffer_reference, std430, buffer_reference_align = alignment) buffer            \
      name##InOut { element v[]; }

OA_BUFFER(F32, float, 4);
OA_BUFFER(I32, int, 4);
OA_BUFFER(U32, uint, 4);
OA_BUFFER(F32x4, vec4, 16);  // only for slices aligned to 16 bytes
OA_BUFFER(U32x4, uvec4, 16);

// Small elements are read from their 32-bit word: 8- and 16-bit storage are optional in Vulkan.
// Reading may touch bytes behind the last element, never past the next multiple of 4.
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer U8In { uint words[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Bf16In {
  uint words[];
};

uint oa_load_u8(U8In x, uint i) { return (x.words[i >> 2] >> ((i & 3u) * 8u)) & 0xffu; }

float oa_load_bf16(Bf16In x, uint i) {
  uint word = x.words[i >> 1];
  return uintBitsToFloat((i & 1u) != 0u ? word & 0xffff0000u : word << 16);
}

// OA_WG, a define of each variant, is the number of invocations of a workgroup. gl_WorkGroupSize
// would be 1 in this file, because the kernel declares its layout only after including it.
#ifndef OA_WG
#error "a variant must define OA_WG, the invocations of a workgroup"
#endif
#define OA_LOCAL_SIZE(n) layout(local_size_x = n, local_size_y = 1, local_size_z = 1) in

// The push constant is the address of the argument block.
#define OA_PUSH(Args) \
  layout(push_constant) uniform OaPush { Args args; }

// Extents are at most 2^32-1, so a saturated index is never below one.
uint oa_add_saturated(uint a, uint b) {
  uint sum = a + b;
  return sum < a ? 0xffffffffu : sum;
}

uint oa_mul_saturated(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high != 0u ? 0xffffffffu : low;
}

// Linear index of this workgroup in the grid, x fastest, and the number of workgroups.
uint oa_group() {
  uint plane = oa_add_saturated(oa_mul_saturated(gl_WorkGroupID.z, gl_NumWorkGroups.y),
                                gl_WorkGroupID.y);
  return oa_add_saturated(oa_mul_saturated(plane, gl_NumWorkGroups.x), gl_WorkGroupID.x);
}

uint oa_group_count() {
  uint plane = oa_mul_saturated(gl_NumWorkGroups.z, gl_NumWorkGroups.y);
  return oa_mul_saturated(plane, gl_NumWorkGroups.x);
}

// Linear index of this invocation in the grid, and the number of invocations.
uint oa_invocation() {
  return oa_add_saturated(oa_mul_saturated(oa_group(), OA_WG),
                          gl_LocalInvocationID.x);
}

uint oa_invocation_count() { return oa_mul_saturated(oa_group_count(), OA_WG); }

// i + stride, or n where that would reach n; i < n. Never wraps.
uint oa_advance(uint i, uint stride, uint n) { return n - i > stride ? i + stride : n; }

// Each i in [0, n) exactly once over the whole grid; for code without barriers.
#define OA_FOR_EACH(i, n)                                                    \
  for (uint i = oa_invocation(), i##_stride = oa_invocation_count(); i < (n); \
       i = oa_advance(i, i##_stride, (n)))

// Each r in [0, rows) by exactly one whole workgroup: control flow is uniform, barriers are fine.
#define OA_FOR_EACH_ROW(r, rows)                                             \
  for (uint r = oa_group(), r##_stride = oa_group_count(); r < (rows);       \
       r = oa_advance(r, r##_stride, (rows)))

// Lanes of one workgroup share the work on columns: c = lane, lane + OA_WG, ...
// Safe near 2^32 like the loops above.
#define OA_FOR_EACH_COLUMN(c, columns)                             \
  for (uint c = gl_LocalInvocationID.x; c < (columns);             \
       c = oa_advance(c, OA_WG, (columns)))

// Makes shared memory written by the workgroup visible to all of it. CPU variants are one subgroup
// that runs in lock step; there a barrier would be the most expensive thing a kernel does.
void oa_workgroup_barrier() {
#ifdef OA_CPU
  subgroupMemoryBarrierShared();
#else
  barrier();
#endif
}

#endif  // OA_COMMON_BASE_GLSL_
