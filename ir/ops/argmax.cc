// argmax and categorical_accuracy_count; a part of the reduce family.
#include <algorithm>
#include <limits>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/column_tiling.h"
#include "ir/ops/reduce_rows.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Rows counted by one workgroup; more than one of these are added by a second dispatch.
constexpr uint64_t kRowsPerChunk = uint64_t{1} << 14;

// The constant `label_type` of count_matches.comp.
constexpr uint32_t kLabelsU8 = 0, kLabels32 = 1, kNoLabels = 2;

// All extents but the last.
Shape LeadingShape(const Shape& shape) { return Shape(shape.begin(), shape.end() - 1); }

uint64_t RowsOf(const Shape& shape) {
  return AroundAxis(shape, static_cast<int64_t>(shape.size()) - 1).outer;
}

absl::Status RequireI32Columns(const InferContext& ctx) {
  if (ctx.shape(0).back() <= std::numeric_limits<int32_t>::max()) return absl::OkStatus();
  return ctx.Fail("the last extent is ", ctx.shape(0).back(), ", which an i32 cannot index");
}

// y [rows] I32 = argmax of each row of operand 0.
absl::Status EmitArgmax(LowerContext& ctx, BufferSlice y) {
  const Shape& x = ctx.input_shape(0);
  const AxisShape shape = AroundAxis(x, static_cast<int64_t>(x.size()) - 1);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("argmax_f32"));
  const ColumnTiling tiling = ChooseTiling(*kernel, shape);
  const uint64_t tiles = tiling.tiles(shape);
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(tiles, tiling.blocks(shape.extent) + 1));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(y)
                      .U32(shape.outer)
                      .U32(shape.extent)
                      .Constant("width", tiling.width)
                      .Constant("mode", tiling.mode)
                      .Flops(shape.outer * shape.extent)
                      .Grid(groups));
}

// ---- argmax ----

absl::Status InferArgmax(InferContext& ctx) {
  OA_RETURN_IF_ERROR(RequireI32Columns(ctx));
  return ctx.AddResult(DType::I32, ctx.rank(0) == 1 ? Shape{1} : LeadingShape(ctx.shape(0)));
}

absl::Status LowerArgmax(LowerContext& ctx) { return EmitArgmax(ctx, ctx.out()); }

OpDef ArgmaxRow() {
  OpDef row =
      MakeRow({"argmax", "reduce",
               "y[..] = lowest c with x[.., c] the maximum of its row; a NaN counts as largest",
               "x [.., C], y i32 [..]; [1] for rank 1"},
              {Operand("x")}, {DetachedResult("y")});
  row.infer = InferArgmax;
  row.rejects = "a last extent above 2^31 - 1";
  row.lower = LowerArgmax;
  row.kernels = {"argmax_f32"};
  return row;
}

// ---- categorical_accuracy_count ----

absl::Status InferAccuracy(InferContext& ctx) {
  OA_RETURN_IF_ERROR(RequireI32Columns(ctx));
  OA_ASSIGN_OR_RETURN(const uint64_t labels, ElementCount(ctx.shape(1)));
  const uint64_t rows = RowsOf(ctx.shape(0));
  if (labels != rows) {
    return ctx.Fail("there are ", labels, " labels for ", rows, " rows of logits");
  }
  return ctx.AddResult(DType::U32, {1});
}

// y [ceil(rows / chunk)] U32: matches in each chunk, or the sum of `predicted` without labels.
absl::Status EmitCount(LowerContext& ctx, BufferSlice predicted, BufferSlice labels,
                       uint32_t label_type, uint64_t rows, uint64_t chunk, BufferSlice y) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("count_matches_u32"));
  const uint64_t chunks = CeilDiv(rows, chunk);
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(chunks, CeilDiv(chunk, kernel->local_size[0]) + 1));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(predicted)
                      .Buffer(labels)
                      .Buffer(y)
                      .U32(rows)
                      .U32(chunk)
                      .Constant("label_type", label_type)
                      .Grid(groups));
}

absl::Status LowerAccuracy(LowerContext& ctx) {
  const uint64_t rows = RowsOf(ctx.input_shape(0));
  const BufferSlice predicted = ctx.Scratch("predicted", DType::I32, {rows});
  OA_RETURN_IF_ERROR(EmitArgmax(ctx, predicted));
  const uint32_t type = ctx.input_dtype(1) == DType::U8 ? kLabelsU8 : kLabels32;
  const uint64_t chunks = CeilDiv(rows, kRowsPerChunk);
  if (chunks == 1) return EmitCount(ctx, predicted, ctx.in(1), type, rows, rows, ctx.out());
  const BufferSlice counts = ctx.Scratch("counts", DType::U32, {chunks});
  OA_RETURN_IF_ERROR(EmitCount(ctx, predicted, ctx.in(1), type, rows, kRowsPerChunk, counts));
  return EmitCount(ctx, counts, BufferSlice(), kNoLabels, chunks, chunks, ctx.out());
}

OpDef AccuracyRow() {
  OpDef row = MakeRow({"categorical_accuracy_count", "reduce",
                       "y = number of rows r with argmax(logits[r, :]) == labels[r]",
                       "logits [.., C], labels with one element a row, y u32 [1]"},
                      {DetachedOperand("logits"), DetachedOperand("labels", kIndexTypes)},
                      {DetachedResult("y")});
  row.infer = InferAccuracy;
  row.rejects = "not one label for each row of logits; a last extent above 2^31 - 1";
  row.lower = LowerAccuracy;
  row.kernels = {"argmax_f32", "count_matches_u32"};
  return row;
}

}  // namespace

std::vector<OpDef> ArgmaxOps() { return {ArgmaxRow(), AccuracyRow()}; }

}  // namespace oa::ir
