// transpose: y[a, j, b, i, c] = x[a, i, b, j, c]: swaps two axes of a dense value; a, b and c are
//   the merged axes in front, between and behind.
// Shapes:   x [na, ni, nb, nj, nc], y [na, nj, nb, ni, nc], 32-bit words. With OA_VEC 4 nc counts
//           vectors of four words, and buffers start at multiples of 16 bytes.
// Cost:     reads and writes 4 bytes a word; runs of nc words are read contiguously, everything is
//           written contiguously.
// Numerics: exact.
#version 460
#include "shape/words.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  WordsIn x;
  WordsOut y;
  uint na;
  uint ni;
  uint nb;
  uint nj;
  uint nc;
};
OA_PUSH(Args);

void main() {
  WordsIn x = args.x;
  WordsOut y = args.y;
  uint ni = max(args.ni, 1u), nb = max(args.nb, 1u), nj = max(args.nj, 1u), nc = max(args.nc, 1u);
  uint count = args.na * args.ni * args.nb * args.nj * args.nc;
  OA_FOR_EACH(t, count) {
    uint rest = t / nc;
    uint c = t - rest * nc;
    uint i = rest % ni;
    rest /= ni;
    uint b = rest % nb;
    rest /= nb;
    uint a = rest / nj;
    uint j = rest - a * nj;
    y.v[t] = x.v[(((a * ni + i) * nb + b) * nj + j) * nc + c];
  }
}
