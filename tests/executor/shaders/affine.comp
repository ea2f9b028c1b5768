// y[i] = activation(a * x[i] + b) for i < n; activation is the identity (0) or relu (1).
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kActivation = 0;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Block {
  Floats x;
  Floats y;
  uint n;
  float a;
  float b;
};
layout(push_constant) uniform Push { Block block; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < block.n) {
    const float value = block.a * block.x.v[i] + block.b;
    block.y.v[i] = kActivation == 1 ? max(value, 0.0) : value;
  }
}
