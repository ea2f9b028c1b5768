// slice and concat: contiguous runs of each row, a row being everything from the axis on; a part of
// the shape family.
#include <algorithm>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/column_tiling.h"
#include "ir/ops/rows.h"
#include "ir/ops/shape_attributes.h"
#include "ir/ops/shape_rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "shape";

// ---- slice ----

struct Range {
  int64_t axis, start, end;
};

Range RangeOf(const Attributes& attributes) {
  return {attributes.i64("axis"), attributes.i64("start"), attributes.i64("end")};
}

// `whole` with the range's axis cut to the range; InvalidArgument when it is not inside.
absl::StatusOr<Shape> Cut(const InferContext& ctx, const Range& range, Shape whole) {
  if (range.axis < 0 || range.axis >= static_cast<int64_t>(whole.size())) {
    return ctx.Fail("attribute 'axis' is ", range.axis, ", the shape ", ShapeText(whole),
                    " has rank ", whole.size());
  }
  uint64_t& extent = whole[static_cast<size_t>(range.axis)];
  if (range.start < 0 || range.start >= range.end || static_cast<uint64_t>(range.end) > extent) {
    return ctx.Fail("the range from ", range.start, " to ", range.end,
                    " is empty or not inside the extent ", extent, " of axis ", range.axis);
  }
  extent = static_cast<uint64_t>(range.end - range.start);
  return whole;
}

absl::Status InferSlice(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape shape, Cut(ctx, RangeOf(ctx.attributes()), ctx.shape(0)));
  return ctx.AddResult(ctx.dtype(0), shape);
}

absl::Status AdjointSlice(AdjointContext& ctx) {
  const Range range = RangeOf(ctx.attributes());
  Attributes attributes;
  attributes.I64("axis", range.axis).I64("start", range.start).I64("end", range.end);
  attributes.List("shape", ShapeList(ctx.shape(ctx.input(0))));
  OA_ASSIGN_OR_RETURN(const ValueId dx, ctx.Emit("slice_backward", {ctx.grad()}, attributes));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

absl::Status LowerSlice(LowerContext& ctx) {
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  const Range range = RangeOf(ctx.attributes());
  const AxisShape x = AroundAxis(ctx.input_shape(0), range.axis);
  const uint64_t run = static_cast<uint64_t>(range.end - range.start) * x.inner;
  const RowCopy copy = {ctx.in(0), x.extent * x.inner, static_cast<uint64_t>(range.start) * x.inner,
                        0, run};
  return EmitCopyRows(ctx, ctx.out(), x.outer, run, {copy});
}

absl::Status InferSliceBackward(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape whole, ShapeAttribute(ctx, "shape"));
  OA_ASSIGN_OR_RETURN(const Shape cut, Cut(ctx, RangeOf(ctx.attributes()), whole));
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, cut));
  return ctx.AddResult(DType::F32, whole);
}

absl::Status LowerSliceBackward(LowerContext& ctx) {
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  const Range range = RangeOf(ctx.attributes());
  const AxisShape x = AroundAxis(ctx.output_shape(), range.axis);
  const uint64_t stride = x.extent * x.inner;
  const uint64_t offset = static_cast<uint64_t>(range.start) * x.inner;
  const uint64_t run = static_cast<uint64_t>(range.end - range.start) * x.inner;
  const uint64_t unit = (stride | offset | run) % 4 == 0 ? 4 : 1;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(unit == 4 ? "pad_rows_u32x4" : "pad_rows_u32"));
  const uint64_t groups = ctx.StridedGroups(*kernel, x.outer * stride / unit);
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.out())
                      .U32(x.outer)
                      .U32(stride / unit)
                      .U32(offset / unit)
                      .U32(run / unit)
                      .Grid(groups));
}

std::vector<OpDef> SliceRows() {
  OpDef row = MakeRow({"slice", kFamily, "y = x[.., start to end, ..] along the axis",
                       "x [..], y [..] with extent end - start at the axis"},
                      {Operand("x", kWordTypes)}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("axis"), IntegerAttribute("start"), IntegerAttribute("end")};
  row.allow_empty = true;
  row.infer = InferSlice;
  row.adjoint = AdjointSlice;
  row.rejects = "an axis that x does not have; a range that is empty or not inside the extent";
  row.lower = LowerSlice;
  row.kernels = {"copy_rows_u32", "copy_rows_u32x4"};

  OpDef backward = BackwardRow(row,
                               {"dx[.., start to end, ..] = g, 0 elsewhere",
                                "g [..] with extent end - start at the axis, dx [shape]"},
                               {Operand("g")}, {{.name = "dx"}});
  backward.attributes.push_back({"shape", AttributeKind::kI64List});
  backward.infer = InferSliceBackward;
  backward.lower = LowerSliceBackward;
  backward.kernels = {"pad_rows_u32", "pad_rows_u32x4"};
  return {row, backward};
}

// ---- concat ----

absl::Status InferConcat(InferContext& ctx) {
  const int64_t axis = ctx.attributes().i64("axis");
  OA_RETURN_IF_ERROR(RequireAxis(ctx, "axis", axis));
  const size_t at = static_cast<size_t>(axis);
  Shape shape = ctx.shape(0);
  for (int i = 1; i < ctx.operand_count(); ++i) {
    if (ctx.dtype(i) != ctx.dtype(0)) {
      return ctx.Fail("operand ", i, " is ", DTypeName(ctx.dtype(i)), ", operand 0 is ",
                      DTypeName(ctx.dtype(0)));
    }
    Shape expected = ctx.shape(0);
    if (ctx.rank(i) == ctx.rank(0)) expected[at] = ctx.shape(i)[at];
    if (ctx.shape(i) != expected) {
      return ctx.Fail("operand ", i, " has shape ", ShapeText(ctx.shape(i)),
                      ", which may differ from that of operand 0, ", ShapeText(ctx.shape(0)),
                      ", at axis ", axis, " only");
    }
    shape[at] += expected[at];
  }
  return ctx.AddResult(ctx.dtype(0), shape);
}

absl::Status AdjointConcat(AdjointContext& ctx) {
  const int64_t axis = ctx.attributes().i64("axis");
  const int inputs = static_cast<int>(ctx.node().inputs.size());
  int64_t start = 0;
  for (int i = 0; i < inputs; ++i) {
    const int64_t extent = static_cast<int64_t>(ctx.shape(ctx.input(i))[static_cast<size_t>(axis)]);
    const int64_t end = start + extent;
    if (ctx.needs(i) && extent > 0) {
      OA_ASSIGN_OR_RETURN(
          const ValueId dx,
          ctx.Emit("slice", {ctx.grad()},
                   Attributes().I64("axis", axis).I64("start", start).I64("end", end)));
      ctx.SetGrad(i, dx);
    }
    start = end;
  }
  return absl::OkStatus();
}

absl::Status LowerConcat(LowerContext& ctx) {
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  const int64_t axis = ctx.attributes().i64("axis");
  const AxisShape y = AroundAxis(ctx.output_shape(), axis);
  std::vector<RowCopy> copies;
  uint64_t offset = 0;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const AxisShape x = AroundAxis(ctx.input_shape(i), axis);
    const uint64_t run = x.extent * x.inner;
    if (run > 0) copies.push_back({ctx.in(i), run, 0, offset, run});
    offset += run;
  }
  return EmitCopyRows(ctx, ctx.out(), y.outer, y.extent * y.inner, copies);
}

OpDef ConcatRow() {
  OpDef row = MakeRow({"concat", kFamily, "y = the operands one behind the other along the axis",
                       "list [..] with equal extents but at the axis, y [..] with their sum there"},
                      {{.name = "list", .dtypes = kWordTypes, .variadic = true}}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("axis")};
  row.allow_empty = true;
  row.infer = InferConcat;
  row.adjoint = AdjointConcat;
  row.rejects =
      "an axis that the operands do not have; operands that differ in dtype, rank or another "
      "extent than that of the axis";
  row.lower = LowerConcat;
  row.kernels = {"copy_rows_u32", "copy_rows_u32x4"};
  return row;
}

}  // namespace

absl::Status EmitCopyRows(LowerContext& ctx, BufferSlice y, uint64_t rows, uint64_t dst_stride,
                          absl::Span<const RowCopy> copies) {
  uint64_t all = dst_stride;  // a multiple of 4 only when everything is
  uint64_t longest = 0;
  for (const RowCopy& copy : copies) {
    all |= copy.src_stride | copy.src_offset | copy.dst_offset | copy.run;
    longest = std::max(longest, copy.run);
  }
  const uint64_t unit = all % 4 == 0 ? 4 : 1;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(unit == 4 ? "copy_rows_u32x4" : "copy_rows_u32"));
  KernelCall call(kernel);
  call.Buffer(y).U32(copies.size()).U32(rows).U32(dst_stride / unit);
  for (const RowCopy& copy : copies) {
    call.Buffer(copy.x)
        .U32(copy.src_stride / unit)
        .U32(copy.src_offset / unit)
        .U32(copy.dst_offset / unit)
        .U32(copy.run / unit);
  }
  // The records are copied one after the other, each by all invocations.
  const LoopCost loops = {CeilDiv(rows * dst_stride / unit, kernel->local_size[0]),
                          3 * copies.size()};
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.GroupsInBudget(ctx.StridedGroups(*kernel, rows * longest / unit),
                                         loops.shared, 1, loops.once));
  call.Loops(loops).Grid(groups);
  return ctx.Emit(std::move(call));
}

std::vector<OpDef> SliceOps() {
  std::vector<OpDef> rows = SliceRows();
  rows.push_back(ConcatRow());
  return rows;
}

}  // namespace oa::ir
