// vq_best: of each row the code with the smallest key among the shares of vq_assign; of equal keys
//   the one of the first share, which has the smaller codes.
// Shapes:   keys, codes U32 [shares, rows], indices [rows].
// Cost:     reads 8 * shares bytes and writes 4 a row.
// Numerics: integers.
#version 460
#include "common/base.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In keys;
  U32In codes;
  U32Out indices;
  uint rows;
  uint shares;
};
OA_PUSH(Args);

void main() {
  U32In keys = args.keys, codes = args.codes;
  uint rows = args.rows, shares = args.shares;
  OA_FOR_EACH(n, shares == 0u ? 0u : rows) {
    uint key = keys.v[n], code = codes.v[n];
    for (uint s = 1; s < shares; ++s) {
      uint other = keys.v[s * rows + n];
      if (other < key) {
        key = other;
        code = codes.v[s * rows + n];
      }
    }
    args.indices.v[n] = code;
  }
}
