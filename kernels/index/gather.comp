// gather: y[n, :] = table[indices[n], :], and a zero row for an index outside [0, rows).
// Shapes:   table [rows, columns], indices [count], y [count, columns]; 32-bit words. With OA_VEC 4
//           columns counts vectors of four words, and buffers start at multiples of 16 bytes.
// Cost:     reads and writes 4 bytes a word, reads each index once a row.
// Numerics: exact.
#version 460
#include "index/index.glsl"
#include "shape/words.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  WordsIn table;
  U32In indices;
  WordsOut y;
  uint rows;
  uint columns;
  uint count;
};
OA_PUSH(Args);

void main() {
  WordsIn table = args.table;
  U32In indices = args.indices;
  WordsOut y = args.y;
  uint rows = args.rows, columns = max(args.columns, 1u);
  OA_FOR_EACH(i, oa_mul_saturated(args.count, args.columns)) {
    uint n = i / columns;
    uint row = load_index(indices, n);
    OA_WORD value = OA_WORD(0u);
    if (row < rows) value = table.v[row * columns + (i - n * columns)];
    y.v[i] = value;
  }
}
