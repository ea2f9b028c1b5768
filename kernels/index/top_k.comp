// top_k: the k largest values of each row, descending, equal ones by lower index, and their
//   indices. NaN counts as larger than everything; -0 and 0 are equal.
// Shapes:   x [rows, columns], values, indices [rows, picks], of which this dispatch finds
//           first .. first + count; it goes on behind the last pick of the dispatch before
//           (`before`, `before_index`) unless first = 0.
// Cost:     a workgroup reads its row once a pick, all but the first time from cache.
// Numerics: exact: words are compared and copied as integers.
#version 460
#include "common/base.glsl"
#include "common/reduce.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  U32In x;
  U32In before;
  U32In before_index;
  U32Out values;
  U32Out indices;
  uint rows;
  uint columns;
  uint picks;
  uint first;
  uint count;
};
OA_PUSH(Args);

const uint kBatch = 4;  // columns of a lane at a time: CPU devices limit the steps of loops

// Ordered like the float; never 0.
uint sort_key(uint bits) {
  uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0xffffffffu;
  if (magnitude == 0u) return 0x80000000u;
  return bits != magnitude ? ~bits : bits | 0x80000000u;
}

void main() {
  U32In x = args.x;
  uint columns = args.columns, picks = args.picks, first = args.first;
  uint end = min(picks, first + args.count);
  OA_FOR_EACH_ROW(r, args.rows) {
    uint base = r * columns;
    uint last_key = 0u, last_index = 0u;
    if (first != 0u && first < picks) {
      last_key = sort_key(args.before.v[r * picks + first - 1u]);
      last_index = args.before_index.v[r * picks + first - 1u];
    }
    for (uint k = first; k < end; ++k) {
      // The first of what comes behind the last pick in the order (key down, index up).
      uint best_key = 0u, best_index = 0xffffffffu;
      for (uint c0 = gl_LocalInvocationID.x; c0 < columns;
           c0 = oa_advance(c0, kBatch * OA_WG, columns)) {
        [[unroll]] for (uint j = 0; j < kBatch; ++j) {
          uint c = oa_add_saturated(c0, j * OA_WG);
          uint key = sort_key(x.v[base + min(c, columns - 1u)]);
          bool open = k == 0u || key < last_key || (key == last_key && c > last_index);
          bool better = c < columns && open && key > best_key;
          best_key = better ? key : best_key;
          best_index = better ? c : best_index;
        }
      }
      last_key = workgroup_max(best_key);
      last_index = workgroup_min(best_key == last_key ? best_index : 0xffffffffu);
      if (gl_LocalInvocationID.x == 0 && last_index < columns) {
        args.values.v[r * picks + k] = x.v[base + last_index];
        args.indices.v[r * picks + k] = last_index;
      }
    }
  }
}
