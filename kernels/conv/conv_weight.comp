// conv_weight: dweight[o, c, a, b] = sum over n, i, j of g[n, o, i, j] *
//   x[n, c, i * stride + a * dilation - padding, ..], c counted in the group of o, x = 0 outside.
// Shapes:   g [batch, outputs, out_height, out_width], x [batch, channels, height, width],
//           dweight [outputs, channels / groups, kernel_height, kernel_width].
// Cost:     2 * |dweight| * batch * out_height * out_width flops; g and x come from cache.
// Numerics: F32. A workgroup owns a weight: sums of its invocations, then their sum in a fixed
//           order. On CPU devices an invocation does: sums of output rows, which are then summed.
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

#ifdef OA_CPU

void main() {
  uint weights = weight_count();
  OA_FOR_EACH(e, weights) {
    Weight weight = weight_at(e);
    float sum = 0.0;
    for (uint n = 0; n < args.batch; ++n) {
      for (uint i = 0; i < args.out_height; ++i) {
        float row_sum = 0.0;
        for (uint j = 0; j < args.out_width; ++j) row_sum += term(weight, n, i, j);
        sum += row_sum;
      }
    }
    args.dweight.v[e] = sum;
  }
}

#else

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
