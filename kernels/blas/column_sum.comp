// column_sum: y[p, c] = sum of x[r, c] over rows r in [p * chunk, min((p + 1) * chunk, rows)), then
// the epilogue at index p * columns + c. With chunk >= rows this is the whole sum of each column.
//   With OA_GROUPED, part s * groups + g is share s of the rows offsets[g] .. offsets[g + 1), which
//   are cut into `shares`. Offsets are data and clipped to `rows`.
// Shapes:   x [rows, columns] dense, y [ceil(rows / chunk), columns].
// Cost:     reads 4 rows columns bytes once; one addition per element.
// Numerics: fp32; OA_LINES partial sums in ascending order, added in a fixed tree.
// Design:   a workgroup owns OA_WG / OA_LINES columns of one part; its invocations share the rows
//           as OA_LINES interleaved lines, so that neighbours read neighbouring columns.
#version 460
#include "common/epilogue.glsl"

OA_LOCAL_SIZE(OA_WG);

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Args {
  F32In x;
#ifdef OA_GROUPED
  U32In offsets;
  uint rows, columns, groups, shares;
#else
  uint rows, columns, chunk;
#endif
  OA_EPILOGUE_ARGUMENTS
};
OA_PUSH(Args);
OA_EPILOGUE_CODE

const uint kColumns = OA_WG / OA_LINES;
#if OA_LINES > 1
shared float partial[OA_LINES][kColumns];
#endif

// Four rows at a time, so that four loads are in flight; added in ascending order.
float sum_line(F32In x, uint columns, uint column, uint first, uint end) {
  float sum = 0.0;
  uint r = first;
  for (; r < end && end - r > 3 * OA_LINES; r = oa_advance(r, 4 * OA_LINES, end)) {
    float v[4];
    [[unroll]] for (uint j = 0; j < 4; ++j) v[j] = x.v[(r + j * OA_LINES) * columns + column];
    [[unroll]] for (uint j = 0; j < 4; ++j) sum += v[j];
  }
  for (; r < end; r = oa_advance(r, OA_LINES, end)) sum += x.v[r * columns + column];
  return sum;
}

#ifdef OA_GROUPED
uint part_count() { return oa_mul_saturated(args.groups, args.shares); }

uvec2 rows_of_part(uint part) {
  uint rows = args.rows, shares = max(args.shares, 1u), group = part % args.groups;
  uint start = min(args.offsets.v[group], rows), end = min(args.offsets.v[group + 1u], rows);
  uint count = max(start, end) - start;
  uint most = count / shares + uint(count % shares != 0u);
  uint first = min(oa_mul_saturated(part / args.groups, most), count);
  return start + uvec2(first, first + min(most, count - first));
}
#else
uint part_count() { return (args.rows - 1) / max(args.chunk, 1u) + 1; }

uvec2 rows_of_part(uint part) {
  uint rows = args.rows, chunk = max(args.chunk, 1u), first = part * chunk;
  return uvec2(first, first + min(chunk, rows - first));
}
#endif

void main() {
  F32In x = args.x;
  uint columns = args.columns, parts = part_count(), blocks = (columns - 1) / kColumns + 1;
  uint lane = gl_LocalInvocationID.x % kColumns, line = gl_LocalInvocationID.x / kColumns;
  oa_epilogue_prepare();
  OA_FOR_EACH_ROW(block, parts * blocks) {
    uint part = block / blocks, column = block % blocks * kColumns + lane;
    uvec2 range = rows_of_part(part);
    float sum = column < columns ? sum_line(x, columns, column, range.x + line, range.y) : 0.0;
#if OA_LINES > 1
    partial[line][lane] = sum;
    [[unroll]] for (uint half_lines = OA_LINES / 2; half_lines > 0; half_lines /= 2) {
      barrier();
      if (line < half_lines) {
        sum += partial[line + half_lines][lane];
        partial[line][lane] = sum;
      }
    }
    barrier();
#endif
    if (line == 0 && column < columns) oa_epilogue_store(part * columns + column, sum);
  }
}
