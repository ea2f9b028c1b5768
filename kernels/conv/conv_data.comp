// conv_data: dx[n, c, h, w] = bias[c] + sum of g[n, o, i, j] * weight[o, c, a, b] over the o in the
//   group of c and all i, a with i * stride + a * dilation - padding = h, likewise j, b for w;
//   then the epilogue.
//   The gradient of conv.comp, and a transposed convolution of g.
// Shapes:   g [batch, outputs, out_height, out_width], dx [batch, channels, height, width],
//           weight [outputs, channels / groups, kernel_height, kernel_width], bias [channels].
// Cost:     at most 2 * |dx| * outputs / groups * kernel flops; an invocation owns kTile channels
//           of a position, so that g is read once for all of them.
// Numerics: F32, a sum a kernel cell, which are then summed in order.
#version 460
#include "common/epilogue.glsl"
#include "conv/conv.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(constant_id = 0) const uint has_bias = 0;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In weight;
  F32In bias;
  OA_CONV_EXTENTS;
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_EPILOGUE_CODE

const uint kTile = 4;

// The sum over `outputs` output channels: g from `from`, weights from `kernels`.
vec4 cell_sum(uint from, uvec4 kernels, uint outputs, uint plane_size, uint weight_stride) {
  F32In g = args.g;
  F32In weight = args.weight;
  vec4 sum = vec4(0.0);
  for (uint o = 0; o < outputs; ++o) {
    float value = g.v[from];
    [[unroll]] for (uint k = 0; k < kTile; ++k) {
      sum[k] = fma(value, weight.v[kernels[k]], sum[k]);
    }
    from += plane_size;
    kernels += weight_stride;
  }
  return sum;
}

// The sum over all outputs that read padded position (row, column); kernels start at `kernels`.
vec4 position_sum(uint planes, uvec4 kernels, uint row, uint column, uint outputs,
                  uint weight_stride) {
  uint out_width = args.out_width, plane_size = args.out_height * out_width;
  vec4 sum = vec4(0.0);
  for (uint a = 0; a < args.kernel_height; ++a) {
    uint i = conv_reader(row, a, args.stride, args.dilation);
    if (i >= args.out_height) continue;
    for (uint b = 0; b < args.kernel_width; ++b) {
      uint j = conv_reader(column, b, args.stride, args.dilation);
      if (j >= out_width) continue;
      sum += cell_sum(planes * plane_size + i * out_width + j,
                      kernels + (a * args.kernel_width + b), outputs, plane_size, weight_stride);
    }
  }
  return sum;
}

void main() {
  uint plane_size = args.height * args.width;
  uint channels = args.channels / args.groups;
  uint outputs = args.outputs / args.groups;
  uint kernel_size = args.kernel_height * args.kernel_width;
  uint tiles = conv_tiles(channels, kTile);
  oa_epilogue_prepare();
  OA_FOR_EACH(t, args.batch * args.groups * tiles * plane_size) {
    uint block = t / plane_size, at = t - block * plane_size;
    uint h = at / args.width, w = at - h * args.width;
    uint owner = block / tiles;  // a group of an image
    uint n = owner / args.groups, q = owner - n * args.groups;
    uint first = (block - owner * tiles) * kTile;  // in the group
    uint count = min(channels - first, kTile);
    uvec4 kernels;  // those behind the group repeat the last one
    [[unroll]] for (uint k = 0; k < kTile; ++k) {
      kernels[k] = (q * outputs * channels + first + min(k, count - 1u)) * kernel_size;
    }
    vec4 sum = position_sum(n * args.outputs + q * outputs, kernels, h + args.padding_height,
                            w + args.padding_width, outputs, channels * kernel_size);
    uint c = q * channels + first;
    if (has_bias != 0u) {
      [[unroll]] for (uint k = 0; k < kTile; ++k) sum[k] += args.bias.v[c + min(k, count - 1u)];
    }
    [[dont_unroll]] for (uint k = 0; k < count; ++k) {
      oa_epilogue_store((n * args.channels + c + k) * plane_size + at, sum[k]);
    }
  }
}
