// argmax: y[r] = lowest column at which row r of x has its maximum. A NaN counts as the largest
//   value; -0 and +0 are equal.
// Shapes:   x [rows, columns], y I32 [rows].
// Cost:     reads 4 * rows * columns bytes, writes 4 * rows.
// Numerics: exact.
#version 460
#include "reduce/columns.glsl"
#include "reduce/ordered.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  I32Out y;
  uint rows;
  uint columns;
};
OA_PUSH(Args);

uint key_of(uint bits) { return oa_ordered(bits == 0x80000000u ? 0u : bits); }

void main() {
  U32In x = args.x;
  I32Out y = args.y;
  uint rows = args.rows, columns = args.columns;
  OA_FOR_EACH_ROW(tile, column_tiles(rows)) {
    uint r = tile * max(width, 1u) + column_slot();
    bool live = r < rows;
    uint count = live ? columns : 0u;
    uint base = r * columns;
    uint blocks = column_blocks(count);
    uint best = 0;  // below every key
    uint where = 0xffffffffu;
    for (uint k = 0; k < blocks; ++k) {
      // Elements behind the end lose every tie: their column number is higher.
      uvec4 bits = column_load(x, base, count, 1, k, kNegativeInfinity);
      [[unroll]] for (uint j = 0; j < 4; ++j) {
        uint key = key_of(bits[j]);
        if (key > best) {
          best = key;
          where = 4u * column_lanes() * k + column_offset(j);
        }
      }
    }
    uint largest = column_max(best);
    uint first = column_min(best == largest ? where : 0xffffffffu);
    if (live && column_lane() == 0u) y.v[r] = int(first);
  }
}
