// conv.glsl: the extents of a convolution of images; a sequence is an image of height 1.
//
// Positions are those of the padded axes, where output i reads i * stride + a * dilation, cell
// p - padding of the image: nothing is negative. The operators refuse padded extents above 2^32-1.
#ifndef OA_CONV_CONV_GLSL_
#define OA_CONV_CONV_GLSL_

#include "common/base.glsl"

// The scalars that end the argument block of every kernel but conv_bias.
#define OA_CONV_EXTENTS                                                                        \
  uint batch; uint channels; uint height; uint width; uint outputs; uint out_height;           \
  uint out_width; uint kernel_height; uint kernel_width; uint stride; uint padding_height;     \
  uint padding_width; uint dilation; uint groups

uint conv_tiles(uint n, uint tile) { return n / tile + uint(n % tile != 0u); }

// The output that reads padded position `at` through kernel cell `a`; 2^32-1 when none does. The
// comparison comes first: a wrapped difference would pass the test of divisibility.
uint conv_reader(uint at, uint a, uint stride, uint dilation) {
  uint offset = a * dilation;
  if (at < offset || (at - offset) % stride != 0u) return 0xffffffffu;
  return (at - offset) / stride;
}

#endif  // OA_CONV_CONV_GLSL_
