// y[i] = 1 for i < n and, which its manifest row hides, y[stray] = 1.
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Block {
  Floats y;
  uint n;
  uint stray;
};
layout(push_constant) uniform Push { Block block; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < block.n) block.y.v[i] = 1.0;
  if (i == 0) block.y.v[block.stray] = 1.0;
}
