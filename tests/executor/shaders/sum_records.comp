// y[r] = scale * sum of the n[r] elements of record r, for r < record_count: many tensors at once.
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
struct Record {
  Floats x;
  uint n;
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Block {
  Floats y;
  uint record_count;
  float scale;
  Record records[];
};
layout(push_constant) uniform Push { Block block; };

void main() {
  const uint r = gl_GlobalInvocationID.x;
  if (r < block.record_count) {
    float sum = 0.0;
    for (uint i = 0; i < block.records[r].n; ++i) sum += block.records[r].x.v[i];
    block.y.v[r] = block.scale * sum;
  }
}
