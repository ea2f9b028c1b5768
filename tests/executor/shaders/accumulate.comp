// state[i] += x[i] for i < n.
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Block {
  Floats x;
  Floats state;
  uint n;
};
layout(push_constant) uniform Push { Block block; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < block.n) block.state.v[i] += block.x.v[i];
}
