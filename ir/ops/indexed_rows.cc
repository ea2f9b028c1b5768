#include "ir/ops/indexed_rows.h"

#include <algorithm>

#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// kColumns of gather_backward.comp.
constexpr uint64_t kColumnsPerInvocation = 4;

// kRows of index_lists.comp.
constexpr uint64_t kRowsPerListGroup = 1024;

// The constant `index_type` of index.glsl.
uint32_t IndexType(DType dtype) {
  switch (dtype) {
    case DType::U8:
      return 0;
    case DType::U32:
      return 1;
    default:
      return 2;
  }
}

// Every workgroup of the scan reads all indices: fine up to this many rows times indices.
uint64_t LargestScan(const DeviceProfile& profile) {
  return uint64_t{1} << (profile.is_cpu ? 15 : 22);
}

// Workgroups of gather_backward.comp for `parts` of rows, `tiles` a row.
absl::StatusOr<uint64_t> SumGroups(LowerContext& ctx, const Kernel& kernel, uint64_t count,
                                   uint64_t parts, uint64_t tiles, bool use_lists) {
  if (use_lists && kernel.device == KernelDevice::kCpu) {
    // All lists together have `count` positions, read eight at a time; at worst they are one row's.
    OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(parts, 2, count / 8));
    return std::max(groups, tiles);
  }
  // The scan looks at the indices and then at each position it found.
  return ctx.RowGroups(parts, count + count / 4 + 300);
}

// Without lists (both slices empty) every workgroup scans the indices.
absl::Status EmitSums(LowerContext& ctx, const IndexedRows& by, const IndexLists& lists,
                      BufferSlice x, uint64_t columns, BufferSlice sums) {
  const bool use_lists = lists.ends.size_bytes != 0;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("gather_backward_f32"));
  const uint64_t tiles = CeilDiv(columns, kColumnsPerInvocation * kernel->local_size[0]);
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      SumGroups(ctx, *kernel, by.count, by.rows * tiles, tiles, use_lists));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(x)
                      .Buffer(by.indices)
                      .Buffer(lists.ends)
                      .Buffer(lists.order)
                      .Buffer(sums)
                      .U32(by.count)
                      .U32(by.rows)
                      .U32(columns)
                      .Constant("index_type", IndexType(by.dtype))
                      .Constant("use_lists", use_lists ? 1 : 0)
                      .Flops(by.count * columns)
                      .Grid(groups));
}

}  // namespace

absl::StatusOr<IndexLists> EmitIndexLists(LowerContext& ctx, const IndexedRows& by) {
  const IndexLists lists = {ctx.Scratch("ends", DType::U32, {by.rows}),
                            ctx.Scratch("order", DType::U32, {by.count})};
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("index_lists_u32"));
  const uint64_t ranges = CeilDiv(by.rows, kRowsPerListGroup);
  const uint64_t lanes = kernel->local_size[0];
  // Two passes over the indices, four a lane at a time, and three over the rows.
  const uint64_t iterations = by.count / (2 * lanes) + 3 * kRowsPerListGroup / lanes + 8;
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(ranges, iterations));
  OA_RETURN_IF_ERROR(ctx.Emit(KernelCall(kernel)
                                  .Buffer(by.indices)
                                  .Buffer(lists.ends)
                                  .Buffer(lists.order)
                                  .U32(by.count)
                                  .U32(by.rows)
                                  .Constant("index_type", IndexType(by.dtype))
                                  .Grid(groups)));
  return lists;
}

absl::Status EmitRowGather(LowerContext& ctx, const IndexedRows& by, BufferSlice table,
                           uint64_t columns, BufferSlice y) {
  if (by.count * columns == 0) return absl::OkStatus();
  const uint64_t unit = columns % 4 == 0 ? 4 : 1;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select(unit == 4 ? "gather_u32x4" : "gather_u32"));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(table)
                      .Buffer(by.indices)
                      .Buffer(y)
                      .U32(by.rows)
                      .U32(columns / unit)
                      .U32(by.count)
                      .Constant("index_type", IndexType(by.dtype))
                      .Grid(ctx.StridedGroups(*kernel, by.count * columns / unit)));
}

absl::Status EmitRowSums(LowerContext& ctx, const IndexedRows& by, BufferSlice x, uint64_t columns,
                         BufferSlice sums) {
  IndexLists lists;
  // At most (2^32 - 1)^2.
  if (by.rows * by.count > LargestScan(ctx.profile())) {
    OA_ASSIGN_OR_RETURN(lists, EmitIndexLists(ctx, by));
  }
  return EmitSums(ctx, by, lists, x, columns, sums);
}

absl::Status EmitListSums(LowerContext& ctx, const IndexedRows& by, const IndexLists& lists,
                          BufferSlice x, uint64_t columns, BufferSlice sums) {
  return EmitSums(ctx, by, lists, x, columns, sums);
}

}  // namespace oa::ir
