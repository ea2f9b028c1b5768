// Shape operators: reshape (a view) and transpose; slice.cc holds slice and concat.
#include <algorithm>
#include <utility>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/column_tiling.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "ir/ops/shape_attributes.h"
#include "ir/ops/shape_rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "shape";

// ---- reshape ----

// Replaces the one extent of -1, at `inferred`, so that the element count is that of operand 0.
absl::Status InferExtent(const InferContext& ctx, size_t inferred, Shape& shape) {
  OA_ASSIGN_OR_RETURN(const uint64_t count, ElementCount(ctx.shape(0)));
  shape[inferred] = 1;
  const absl::StatusOr<uint64_t> others = ElementCount(shape);
  if (!others.ok() || *others == 0 || count % *others != 0) {
    return ctx.Fail("the extent -1 has no value that gives ", count, " elements");
  }
  shape[inferred] = count / *others;
  return absl::OkStatus();
}

absl::Status InferReshape(InferContext& ctx) {
  Shape shape;
  int inferred = -1;
  for (int64_t extent : ctx.attributes().list("shape")) {
    if (extent < -1) return ctx.Fail("attribute 'shape' has the negative extent ", extent);
    if (extent == -1 && inferred >= 0) {
      return ctx.Fail("attribute 'shape' has more than one extent of -1");
    }
    if (extent == -1) inferred = static_cast<int>(shape.size());
    shape.push_back(static_cast<uint64_t>(extent));
  }
  if (inferred >= 0) {
    OA_RETURN_IF_ERROR(InferExtent(ctx, static_cast<size_t>(inferred), shape));
  }
  return ctx.AddView(0, shape);
}

absl::Status AdjointReshape(AdjointContext& ctx) {
  const Shape shape = ctx.shape(ctx.input(0));
  OA_ASSIGN_OR_RETURN(const ValueId dx, ctx.Emit("reshape", {ctx.grad()},
                                                 Attributes().List("shape", ShapeList(shape))));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

OpDef ReshapeRow() {
  OpDef row =
      MakeRow({"reshape", kFamily,
               "y = x with other extents, the same elements in the same order; one may be -1",
               "x [..], y [shape]; a view"},
              {Operand("x", kAnyType)}, {{.name = "y"}});
  row.attributes = {{"shape", AttributeKind::kI64List}};
  row.allow_empty = true;
  row.infer = InferReshape;
  row.rejects =
      "a shape with another number of elements; an extent below -1; more than one -1, or one that "
      "has no value; a rank of 0 or above 8";
  row.adjoint = AdjointReshape;
  return row;
}

// ---- transpose ----

std::pair<int64_t, int64_t> SwappedAxes(const Attributes& attributes) {
  return std::minmax({attributes.i64("axis0"), attributes.i64("axis1")});
}

absl::Status InferTranspose(InferContext& ctx) {
  const auto [low, high] = SwappedAxes(ctx.attributes());
  for (const char* name : {"axis0", "axis1"}) {
    OA_RETURN_IF_ERROR(RequireAxis(ctx, name, ctx.attributes().i64(name)));
  }
  Shape shape = ctx.shape(0);
  std::swap(shape[static_cast<size_t>(low)], shape[static_cast<size_t>(high)]);
  return ctx.AddResult(ctx.dtype(0), shape);
}

absl::Status AdjointTranspose(AdjointContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ValueId dx, ctx.Emit("transpose", {ctx.grad()}, ctx.attributes()));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

SwapShape AroundAxes(const Shape& shape, int64_t low, int64_t high) {
  const AxisShape tail = AroundAxis(shape, high);
  const AxisShape head =
      AroundAxis(absl::MakeConstSpan(shape.data(), static_cast<size_t>(high)), low);
  return {head.outer, head.extent, head.inner, tail.extent, tail.inner};
}

absl::Status EmitTiledSwap(LowerContext& ctx, BufferSlice x, BufferSlice y, const SwapShape& s) {
  constexpr uint64_t kTile = 32;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("transpose_tiled_u32"));
  const uint64_t tiles = s.a * s.b * CeilDiv(s.i, kTile) * CeilDiv(s.j, kTile);
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(tiles, /*iterations=*/0));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(x)
                      .Buffer(y)
                      .U32(s.a)
                      .U32(s.i)
                      .U32(s.b)
                      .U32(s.j)
                      .Grid(groups));
}

absl::Status LowerTranspose(LowerContext& ctx) {
  const uint64_t count = ctx.output_count_of();
  if (count == 0) return absl::OkStatus();
  const auto [low, high] = SwappedAxes(ctx.attributes());
  // One and the same axis: nothing is swapped, everything is one long run.
  const SwapShape s =
      low == high ? SwapShape{.c = count} : AroundAxes(ctx.input_shape(0), low, high);
  return EmitSwap(ctx, ctx.in(0), ctx.out(), s);
}

OpDef TransposeRow() {
  OpDef row = MakeRow({"transpose", kFamily, "y = x with axis0 and axis1 swapped",
                       "x [..], y [..] with the two extents swapped"},
                      {Operand("x", kWordTypes)}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("axis0"), IntegerAttribute("axis1")};
  row.allow_empty = true;
  row.infer = InferTranspose;
  row.adjoint = AdjointTranspose;
  row.rejects = "an axis that x does not have";
  row.lower = LowerTranspose;
  row.kernels = {"transpose_u32", "transpose_u32x4", "transpose_tiled_u32"};
  return row;
}

}  // namespace

absl::Status EmitSwap(LowerContext& ctx, BufferSlice x, BufferSlice y, const SwapShape& s) {
  // Tiles pay where both runs are long; CPU devices would only pay for the barriers.
  if (s.c == 1 && s.i >= 8 && s.j >= 8 && !ctx.profile().is_cpu) return EmitTiledSwap(ctx, x, y, s);
  const uint64_t unit = s.c % 4 == 0 ? 4 : 1;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(unit == 4 ? "transpose_u32x4" : "transpose_u32"));
  const uint64_t groups = ctx.StridedGroups(*kernel, s.a * s.i * s.b * s.j * (s.c / unit));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(x)
                      .Buffer(y)
                      .U32(s.a)
                      .U32(s.i)
                      .U32(s.b)
                      .U32(s.j)
                      .U32(s.c / unit)
                      .Grid(groups));
}

std::vector<OpDef> ShapeOps() {
  std::vector<OpDef> rows = {ReshapeRow(), TransposeRow()};
  for (OpDef& row : SliceOps()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace oa::ir
