// transpose_tiled: y[a, j, b, i] = x[a, i, b, j] through square tiles in shared memory, for swaps
//   that move the last axis: both reads and writes are then contiguous runs of a tile's width.
// Shapes:   x [na, ni, nb, nj], y [na, nj, nb, ni], 32-bit words.
// Cost:     reads and writes 4 bytes a word.
// Numerics: exact.
// Source:   Ruetsch & Micikevicius 2009, "Optimizing matrix transpose in CUDA".
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  U32Out y;
  uint na;
  uint ni;
  uint nb;
  uint nj;
};
OA_PUSH(Args);

const uint kTile = 32;
const uint kStep = OA_WG / kTile;  // rows of the tile that are moved at once

shared uint tile[kTile * (kTile + 1)];  // one word of padding a row: no bank conflicts

void main() {
  U32In x = args.x;
  U32Out y = args.y;
  uint ni = args.ni, nb = args.nb, nj = args.nj;
  uint tiles_i = ni / kTile + uint(ni % kTile != 0u);
  uint tiles_j = nj / kTile + uint(nj % kTile != 0u);
  uint column = gl_LocalInvocationID.x % kTile, first = gl_LocalInvocationID.x / kTile;
  OA_FOR_EACH_ROW(t, args.na * nb * tiles_i * tiles_j) {
    uint j0 = t % tiles_j * kTile;
    uint rest = t / tiles_j;
    uint i0 = rest % tiles_i * kTile;
    rest /= tiles_i;
    uint a = rest / nb;
    uint b = rest - a * nb;
    barrier();  // the tile before this one has been written
    if (j0 + column < nj) {
      [[unroll]] for (uint row = first; row < kTile; row += kStep) {
        if (i0 + row < ni) {
          tile[row * (kTile + 1) + column] =
              x.v[((a * ni + i0 + row) * nb + b) * nj + j0 + column];
        }
      }
    }
    barrier();
    if (i0 + column < ni) {
      [[unroll]] for (uint row = first; row < kTile; row += kStep) {
        if (j0 + row < nj) {
          y.v[((a * nj + j0 + row) * nb + b) * ni + i0 + column] =
              tile[column * (kTile + 1) + row];
        }
      }
    }
  }
}
