#include "ir/ops/reduce_lowering.h"

#include <algorithm>
#include <vector>

#include "ir/ops/column_tiling.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// One dispatch; `out` [outer, ceil(extent / chunk), inner].
absl::Status EmitOnce(LowerContext& ctx, const Kernel* kernel, BufferSlice in,
                      const AxisShape& shape, uint64_t chunk, BufferSlice out, ReduceKind kind,
                      float scale) {
  const ColumnTiling tiling = ChooseTiling(*kernel, shape);
  const uint64_t chunks = shape.extent == 0 ? 1 : CeilDiv(shape.extent, chunk);
  const uint64_t rows = tiling.tiles(shape) * chunks;
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(rows, tiling.blocks(std::min(chunk, shape.extent)) + 1));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(in)
                      .Buffer(out)
                      .U32(shape.outer)
                      .U32(shape.extent)
                      .U32(shape.inner)
                      .U32(chunk)
                      .F32(scale)
                      .Constant("width", tiling.width)
                      .Constant("mode", tiling.mode)
                      .Constant("operation", kind == ReduceKind::kMax ? 1 : 0)
                      .Flops(shape.columns() * shape.extent)
                      .Grid(groups));
}

absl::Status EmitCopy(LowerContext& ctx, BufferSlice in, uint64_t count, BufferSlice out) {
  EwBuilder b(count);
  const uint64_t shape[] = {count};
  b.Output(b.Op(OA_EW_COPY, b.Input(BroadcastInput(in, DType::F32, shape, shape))), out);
  return ctx.Emit(b.Build());
}

// Neighbouring axes that are all summed or all kept.
struct AxisGroup {
  uint64_t extent;
  bool summed;
};

// The axes of `in_shape` in groups; axes of extent 1 belong to whatever is next to them.
std::vector<AxisGroup> GroupAxes(absl::Span<const uint64_t> in_shape,
                                 absl::Span<const uint64_t> out_shape) {
  const size_t missing = in_shape.size() - out_shape.size();
  std::vector<AxisGroup> groups;
  for (size_t i = 0; i < in_shape.size(); ++i) {
    if (in_shape[i] == 1) continue;
    const bool summed = i < missing || out_shape[i - missing] != in_shape[i];
    if (groups.empty() || groups.back().summed != summed) groups.push_back({1, summed});
    groups.back().extent *= in_shape[i];
  }
  return groups;
}

// The summed group with the largest extent: it leaves the least for the next dispatch.
size_t LargestSummed(const std::vector<AxisGroup>& groups) {
  size_t largest = groups.size();
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].summed) continue;
    if (largest == groups.size() || groups[i].extent > groups[largest].extent) largest = i;
  }
  return largest;
}

AxisShape AroundGroup(const std::vector<AxisGroup>& groups, size_t axis) {
  std::vector<uint64_t> extents;
  for (const AxisGroup& group : groups) extents.push_back(group.extent);
  return AroundAxis(extents, static_cast<int64_t>(axis));
}

}  // namespace

absl::Status EmitReduceAll(LowerContext& ctx, BufferSlice in, uint64_t n, BufferSlice out,
                           ReduceKind kind, float scale) {
  return EmitReduceAxis(ctx, in, 1, n, 1, out, kind, scale);
}

absl::Status EmitReduceAxis(LowerContext& ctx, BufferSlice in, uint64_t outer, uint64_t extent,
                            uint64_t inner, BufferSlice out, ReduceKind kind, float scale) {
  const AxisShape shape = {outer, extent, inner};
  if (shape.columns() == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("reduce_f32"));
  const uint64_t chunk = ChooseChunk(*kernel, shape, ChooseTiling(*kernel, shape));
  if (chunk >= extent) return EmitOnce(ctx, kernel, in, shape, extent, out, kind, scale);
  const AxisShape partial_shape = {outer, CeilDiv(extent, chunk), inner};
  const BufferSlice partials =
      ctx.Scratch("partials", DType::F32, {outer, partial_shape.extent, inner});
  OA_RETURN_IF_ERROR(EmitOnce(ctx, kernel, in, shape, chunk, partials, kind, 1));
  return EmitOnce(ctx, kernel, partials, partial_shape, partial_shape.extent, out, kind, scale);
}

absl::Status EmitReduceTo(LowerContext& ctx, BufferSlice in, absl::Span<const uint64_t> in_shape,
                          BufferSlice out, absl::Span<const uint64_t> out_shape) {
  std::vector<AxisGroup> groups = GroupAxes(in_shape, out_shape);
  size_t axis = LargestSummed(groups);
  if (axis == groups.size()) {
    return EmitCopy(ctx, in, AroundGroup(groups, axis).outer, out);
  }
  while (true) {
    const AxisShape shape = AroundGroup(groups, axis);
    groups.erase(groups.begin() + static_cast<int64_t>(axis));
    const size_t next = LargestSummed(groups);
    const bool last = next == groups.size();
    const BufferSlice to =
        last ? out : ctx.Scratch("summed", DType::F32, {shape.outer, shape.inner});
    OA_RETURN_IF_ERROR(EmitReduceAxis(ctx, in, shape.outer, shape.extent, shape.inner, to,
                                      ReduceKind::kSum, 1));
    if (last) return absl::OkStatus();
    in = to;
    axis = next;
  }
}

absl::Status EmitRowDot(LowerContext& ctx, BufferSlice x, BufferSlice g, uint64_t rows,
                        uint64_t columns, BufferSlice y) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("row_dot_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(rows, CeilDiv(columns, kernel->local_size[0]) + 1));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(x)
                      .Buffer(g)
                      .Buffer(y)
                      .U32(rows)
                      .U32(columns)
                      .Flops(2 * rows * columns)
                      .Grid(groups));
}

}  // namespace oa::ir
