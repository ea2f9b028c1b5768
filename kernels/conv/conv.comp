// conv: y[n, o, i, j] = bias[o] + sum over c, a, b of weight[o, c, a, b] *
//   x[n, c, i * stride + a * dilation - padding, ..], c in the group of o, x = 0 outside;
//   then the epilogue.
// Shapes:   x [batch, channels, height, width], y [batch, outputs, out_height, out_width],
//           weight [outputs, channels / groups, kernel_height, kernel_width], bias [outputs].
// Cost:     2 * |y| * channels / groups * kernel flops; an invocation owns kTile output channels of
//           a position, so that x is read once for all of them.
// Numerics: F32, a sum a channel, which are then summed in order.
#version 460
#include "common/epilogue.glsl"
#include "conv/conv.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint has_bias = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
  F32In weight;
  F32In bias;
  OA_CONV_EXTENTS;
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_EPILOGUE_CODE

const uint kTile = 4;

// What input channel `plane` adds to outputs whose kernels start at `kernels`.
vec4 channel_sum(uint plane, uvec4 kernels, uint top, uint left) {
  F32In x = args.x;
  F32In weight = args.weight;
  uint height = args.height, width = args.width;
  uint padding = args.padding_width, dilation = args.dilation;
  vec4 sum = vec4(0.0);
  for (uint a = 0; a < args.kernel_height; ++a) {
    uint h = top + a * dilation - args.padding_height;  // wraps above the image, then h >= height
    if (h >= height) continue;
    uint base = (plane * height + h) * width;
    uint row = a * args.kernel_width;
    for (uint b = 0; b < args.kernel_width; ++b) {
      uint w = left + b * dilation - padding;
      if (w >= width) continue;
      float value = x.v[base + w];
      [[unroll]] for (uint k = 0; k < kTile; ++k) {
        sum[k] = fma(value, weight.v[kernels[k] + row + b], sum[k]);
      }
    }
  }
  return sum;
}

void main() {
  uint plane_size = args.out_height * args.out_width;
  uint channels = args.channels / args.groups;
  uint outputs = args.outputs / args.groups;
  uint kernel_size = args.kernel_height * args.kernel_width;
  uint tiles = conv_tiles(outputs, kTile);
  oa_epilogue_prepare();
  OA_FOR_EACH(t, args.batch * args.groups * tiles * plane_size) {
    uint block = t / plane_size, at = t - block * plane_size;
    uint i = at / args.out_width, j = at - i * args.out_width;
    uint owner = block / tiles;  // a group of an image
    uint n = owner / args.groups, q = owner - n * args.groups;
    uint first = q * outputs + (block - owner * tiles) * kTile;
    uint count = min((q + 1u) * outputs - first, kTile);
    uvec4 kernels;  // those behind the group repeat the last one
    [[unroll]] for (uint k = 0; k < kTile; ++k) {
      kernels[k] = (first + min(k, count - 1u)) * channels * kernel_size;
    }
    vec4 sum = vec4(0.0);
    for (uint c = 0; c < channels; ++c) {
      sum += channel_sum(n * args.channels + q * channels + c, kernels, i * args.stride,
                         j * args.stride);
      kernels += kernel_size;
    }
    if (has_bias != 0u) {
      [[unroll]] for (uint k = 0; k < kTile; ++k) sum[k] += args.bias.v[first + min(k, count - 1u)];
    }
    [[dont_unroll]] for (uint k = 0; k < count; ++k) {
      oa_epilogue_store((n * args.outputs + first + k) * plane_size + at, sum[k]);
    }
  }
}
