// conv_weight: dweight[o, c, a, b] = sum over n, i, j of g[n, o, i, j] *
//   x[n, c, i * stride + a * dilation - padding, ..], c counted in the group of o, x = 0 outside.
// Shapes:   g [batch, outputs, out_height, out_width], x [batch, channels, height, width],
//           dweight [outputs, channels / groups, kernel_height, kernel_width].
// Cost:     2 * |dweight| * batch * out_height * out_width flops; g and x come from cache.
// Numerics: F32. A workgroup owns a weight: sums of its invocations, then their sum in a fixed
//           order. On CPU devices an invocation owns the weights of kTile output channels: sums of
//           output rows, which are then summed.
#version 460
#include "conv/conv.glsl"
#ifndef OA_CPU
#include "common/reduce.glsl"
#endif

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In g;
  F32In x;
  F32Out dweight;
  OA_CONV_EXTENTS;
};
OA_PUSH(Args);

#ifdef OA_CPU

const uint kTile = 4;  // output channels of an invocation, so that x is read once for all of them

// What row i of the outputs of image n adds to the weights of cell (a, b) between input channel
// `channel` and output channels `first` + lane.
vec4 row_sum(uint n, uint channel, uvec4 first, uint i, uint a, uint b) {
  F32In g = args.g;
  F32In x = args.x;
  uint width = args.width, out_width = args.out_width, stride = args.stride;
  uint h = i * stride + a * args.dilation - args.padding_height;  // wraps above the image
  if (h >= args.height) return vec4(0.0);
  uint line = ((n * args.channels + channel) * args.height + h) * width;
  uvec4 out_line = ((n * args.outputs + first) * args.out_height + i) * out_width;
  uint w = b * args.dilation - args.padding_width;
  vec4 sum = vec4(0.0);
  for (uint j = 0; j < out_width; ++j, w += stride) {
    if (w >= width) continue;
    float value = x.v[line + w];
    [[unroll]] for (uint k = 0; k < kTile; ++k) sum[k] += g.v[out_line[k] + j] * value;
  }
  return sum;
}

void main() {
  uint kernel_size = args.kernel_height * args.kernel_width;
  uint channels = args.channels / args.groups, outputs = args.outputs / args.groups;
  uint tiles = conv_tiles(outputs, kTile);
  OA_FOR_EACH(t, args.groups * tiles * channels * kernel_size) {
    uint block = t / kernel_size, cell = t - block * kernel_size;
    uint owner = block / channels, c = block - owner * channels;
    uint q = owner / tiles, first = q * outputs + (owner - q * tiles) * kTile;
    uint count = min((q + 1u) * outputs - first, kTile);
    uvec4 o = first + min(uvec4(0, 1, 2, 3), uvec4(count - 1u));  // repeats the group's last one
    uint a = cell / args.kernel_width, b = cell - a * args.kernel_width;
    vec4 sum = vec4(0.0);
    for (uint n = 0; n < args.batch; ++n) {
      for (uint i = 0; i < args.out_height; ++i) {
        sum += row_sum(n, q * channels + c, o, i, a, b);
      }
    }
    [[unroll]] for (uint k = 0; k < kTile; ++k) {
      if (k < count) args.dweight.v[((first + k) * channels + c) * kernel_size + cell] = sum[k];
    }
  }
}

#else

struct Weight {
  uint o;
  uint channel;  // of all
  uint row;      // a * dilation - padding, wrapped: i * stride + row is a row of x or too large
  uint column;
};

uint weight_count() {
  uint kernel_size = args.kernel_height * args.kernel_width;
  return args.outputs * (args.channels / args.groups) * kernel_size;
}

Weight weight_at(uint e) {
  uint channels = args.channels / args.groups;
  uint line = e / args.kernel_width, b = e - line * args.kernel_width;
  uint kernel = line / args.kernel_height, a = line - kernel * args.kernel_height;
  uint o = kernel / channels, c = kernel - o * channels;
  uint group = o / max(args.outputs / args.groups, 1u);
  return Weight(o, min(group * channels + c, args.channels - 1u),
                a * args.dilation - args.padding_height, b * args.dilation - args.padding_width);
}

// What output (n, i, j) adds to the gradient of a weight.
float term(Weight weight, uint n, uint i, uint j) {
  uint h = i * args.stride + weight.row, w = j * args.stride + weight.column;
  if (h >= args.height || w >= args.width) return 0.0;
  uint line = (n * args.channels + weight.channel) * args.height + h;
  uint out_line = (n * args.outputs + weight.o) * args.out_height + i;
  return args.g.v[out_line * args.out_width + j] * args.x.v[line * args.width + w];
}

void main() {
  uint weights = weight_count();
  OA_FOR_EACH_ROW(e, weights) {
    Weight weight = weight_at(e);
    float sum = 0.0;
    OA_FOR_EACH_COLUMN(t, args.batch * args.out_height * args.out_width) {
      uint line = t / args.out_width;
      uint n = line / args.out_height;
      sum += term(weight, n, line - n * args.out_height, t - line * args.out_width);
    }
    sum = workgroup_sum(sum);
    if (gl_LocalInvocationID.x == 0) args.dweight.v[e] = sum;
  }
}

#endif
