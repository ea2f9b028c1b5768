// Reductions: sum, mean, max, and the two halves of broadcasting, sum_to and broadcast_to, which
// adjoints are made of. softmax.cc and argmax.cc hold the rest of the family.
#include <iterator>
#include <optional>

#include "ir/elementwise.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/column_tiling.h"
#include "ir/ops/families.h"
#include "ir/ops/reduce_lowering.h"
#include "ir/ops/reduce_rows.h"
#include "ir/ops/rows.h"
#include "ir/ops/shape_attributes.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "reduce";

// ---- sum, mean ----

absl::Status InferSum(InferContext& ctx) {
  const std::optional<int64_t> axis = ctx.attributes().optional("axis");
  if (!axis) return ctx.AddResult(DType::F32, {1});
  OA_RETURN_IF_ERROR(RequireAxis(ctx, "axis", *axis));
  Shape shape = ctx.shape(0);
  shape[static_cast<size_t>(*axis)] = 1;
  return ctx.AddResult(DType::F32, shape);
}

// The operand as [outer, reduced, inner].
AxisShape SummedShape(const Shape& shape, std::optional<int64_t> axis) {
  if (axis) return AroundAxis(shape, *axis);
  return {1, AroundAxis(shape, 0).columns() * shape[0], 1};
}

template <bool kMean>
absl::Status LowerSum(LowerContext& ctx) {
  const AxisShape shape = SummedShape(ctx.input_shape(0), ctx.attributes().optional("axis"));
  const float scale = kMean ? 1.0f / static_cast<float>(shape.extent) : 1.0f;
  return EmitReduceAxis(ctx, ctx.in(0), shape.outer, shape.extent, shape.inner, ctx.out(),
                        ReduceKind::kSum, scale);
}

template <bool kMean>
absl::Status AdjointSum(AdjointContext& ctx) {
  const Shape shape = ctx.shape(ctx.input(0));
  ValueId g = ctx.grad();
  if (kMean) {
    const uint64_t count = SummedShape(shape, ctx.attributes().optional("axis")).extent;
    const float scale = 1.0f / static_cast<float>(count);
    OA_ASSIGN_OR_RETURN(g, ctx.Emit("scale", {g}, Attributes().F32("scalar", scale)));
  }
  if (ctx.shape(g) != shape) {
    OA_ASSIGN_OR_RETURN(
        g, ctx.Emit("broadcast_to", {g}, Attributes().List("shape", ShapeList(shape))));
  }
  ctx.SetGrad(0, g);
  return absl::OkStatus();
}

template <bool kMean>
OpDef SumRow() {
  OpDef row = MakeRow({kMean ? "mean" : "sum", kFamily,
                       kMean ? "y = sum of x / number of elements summed, over one axis or over all"
                             : "y = sum of x over one axis or over all",
                       "x [..], y like x with extent 1 at the axis; without an axis [1]"},
                      {Operand("x")}, {{.name = "y"}});
  row.attributes = {{"axis", AttributeKind::kOptionalI64}};
  row.allow_empty = !kMean;
  row.infer = InferSum;
  row.rejects = kAxisRejects;
  row.adjoint = AdjointSum<kMean>;
  row.lower = LowerSum<kMean>;
  row.kernels = {"reduce_f32"};
  return row;
}

// ---- broadcast_to, sum_to ----

// InvalidArgument unless `small` broadcasts to `large` by NumPy's rules.
absl::Status RequireBroadcast(const InferContext& ctx, const Shape& small, const Shape& large) {
  bool fits = small.size() <= large.size();
  for (size_t i = 1; fits && i <= small.size(); ++i) {
    const uint64_t extent = small[small.size() - i];
    fits = extent == 1 || extent == large[large.size() - i];
  }
  if (fits) return absl::OkStatus();
  return ctx.Fail("the shape ", ShapeText(small), " does not broadcast to ", ShapeText(large));
}

absl::Status InferBroadcastTo(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape shape, ShapeAttribute(ctx, "shape"));
  OA_RETURN_IF_ERROR(RequireBroadcast(ctx, ctx.shape(0), shape));
  return ctx.AddResult(DType::F32, shape);
}

absl::Status InferSumTo(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape shape, ShapeAttribute(ctx, "shape"));
  OA_RETURN_IF_ERROR(RequireBroadcast(ctx, shape, ctx.shape(0)));
  return ctx.AddResult(DType::F32, shape);
}

absl::Status LowerBroadcastTo(LowerContext& ctx) {
  const Shape& shape = ctx.output_shape();
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  EwBuilder b(ctx.output_count_of(), shape);
  b.Output(b.Op(OA_EW_COPY, b.Input(ctx.Ew(0, shape))), ctx.out());
  return ctx.Emit(b.Build());
}

absl::Status LowerSumTo(LowerContext& ctx) {
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  return EmitReduceTo(ctx, ctx.in(0), ctx.input_shape(0), ctx.out(), ctx.output_shape());
}

absl::Status AdjointBroadcast(AdjointContext& ctx, absl::string_view inverse) {
  const Shape shape = ctx.shape(ctx.input(0));
  OA_ASSIGN_OR_RETURN(const ValueId dx, ctx.Emit(inverse, {ctx.grad()},
                                                 Attributes().List("shape", ShapeList(shape))));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

std::vector<OpDef> BroadcastRows() {
  OpDef broadcast =
      MakeRow({"broadcast_to", kFamily,
               "y = x repeated along the axes where x has extent 1 or none", "x [..], y [shape]"},
              {Operand("x")}, {{.name = "y"}});
  broadcast.attributes = {{"shape", AttributeKind::kI64List}};
  broadcast.allow_empty = true;
  broadcast.infer = InferBroadcastTo;
  broadcast.adjoint = [](AdjointContext& ctx) { return AdjointBroadcast(ctx, "sum_to"); };
  broadcast.rejects = "x that does not broadcast to the shape; a shape of rank 0 or above 8";
  broadcast.lower = LowerBroadcastTo;
  broadcast.kernels = {kElementwise};

  OpDef sum = broadcast;
  sum.name = "sum_to";
  sum.equation = "y = sum of x over the axes where y has extent 1 or none: undoes broadcasting";
  sum.infer = InferSumTo;
  sum.adjoint = [](AdjointContext& ctx) { return AdjointBroadcast(ctx, "broadcast_to"); };
  sum.rejects = "a shape that does not broadcast to that of x";
  sum.lower = LowerSumTo;
  sum.kernels = {"reduce_f32", kElementwise};
  return {broadcast, sum};
}

// ---- max ----

absl::Status InferMax(InferContext& ctx) { return ctx.AddResult(DType::F32, {1}); }

absl::Status LowerMax(LowerContext& ctx) {
  return EmitReduceAll(ctx, ctx.in(0), ctx.input_count_of(0), ctx.out(), ReduceKind::kMax, 1);
}

absl::Status AdjointMax(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.output()});
}

absl::Status InferMaxBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {1}));
  OA_RETURN_IF_ERROR(ctx.RequireShape(2, {1}));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

absl::Status LowerMaxBackward(LowerContext& ctx) {
  const Shape& shape = ctx.output_shape();
  EwBuilder b(ctx.output_count_of(), shape);
  const EwBuilder::Reg g = b.Input(ctx.Ew(0, shape));
  const EwBuilder::Reg x = b.Input(ctx.Ew(1, shape));
  const EwBuilder::Reg y = b.Input(ctx.Ew(2, shape));
  b.Output(b.Op2(OA_EW_MASK_NONZERO, g, b.Op2(OA_EW_EQUAL_AB, x, y)), ctx.out());
  return ctx.Emit(b.Build());
}

std::vector<OpDef> MaxRows() {
  OpDef max =
      MakeRow({"max", kFamily, "y = largest element of x; NaN when there is one", "x [..], y [1]"},
              {Operand("x")}, {{.name = "y"}});
  max.infer = InferMax;
  max.adjoint = AdjointMax;
  max.rejects = kNothingMore;
  max.lower = LowerMax;
  max.kernels = {"reduce_f32"};

  OpDef backward = BackwardRow(max,
                               {"dx = x == y ? g : 0: every element that equals the maximum",
                                "g [1], x [..], y [1], dx [..]"},
                               {Operand("g"), Operand("x"), Operand("y")}, {{.name = "dx"}});
  backward.infer = InferMaxBackward;
  backward.lower = LowerMaxBackward;
  backward.kernels = {kElementwise};
  return {max, backward};
}

void Append(std::vector<OpDef> from, std::vector<OpDef>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

std::vector<OpDef> ReduceOps() {
  std::vector<OpDef> rows = {SumRow<false>(), SumRow<true>()};
  Append(BroadcastRows(), rows);
  Append(MaxRows(), rows);
  Append(SoftmaxOps(), rows);
  Append(ArgmaxOps(), rows);
  return rows;
}

}  // namespace oa::ir
