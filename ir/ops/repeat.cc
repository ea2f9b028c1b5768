// repeat_interleave and causal_mask; a part of the shape family.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/column_tiling.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "ir/ops/shape_attributes.h"
#include "ir/ops/shape_rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "shape";

// ---- repeat_interleave ----

absl::Status CheckRepeats(const InferContext& ctx) {
  OA_RETURN_IF_ERROR(RequireAxis(ctx, "axis", ctx.attributes().i64("axis")));
  const int64_t repeats = ctx.attributes().i64("repeats");
  if (repeats >= 1 && repeats <= int64_t{UINT32_MAX}) return absl::OkStatus();
  return ctx.Fail("attribute 'repeats' is ", repeats, ", must be from 1 to 2^32-1");
}

absl::Status InferRepeat(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRepeats(ctx));
  Shape shape = ctx.shape(0);
  shape[static_cast<size_t>(ctx.attributes().i64("axis"))] *=
      static_cast<uint64_t>(ctx.attributes().i64("repeats"));
  return ctx.AddResult(ctx.dtype(0), shape);
}

absl::Status InferRepeatBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRepeats(ctx));
  const uint64_t repeats = static_cast<uint64_t>(ctx.attributes().i64("repeats"));
  Shape shape = ctx.shape(0);
  uint64_t& extent = shape[static_cast<size_t>(ctx.attributes().i64("axis"))];
  if (extent % repeats != 0) {
    return ctx.Fail("the extent ", extent, " is no multiple of 'repeats', ", repeats);
  }
  extent /= repeats;
  return ctx.AddResult(DType::F32, shape);
}

absl::Status AdjointRepeat(AdjointContext& ctx) { return ctx.EmitBackward({ctx.grad()}); }

// `loops`: the kernel has a loop over the repeats.
absl::Status EmitRepeat(LowerContext& ctx, absl::string_view base, const Shape& single,
                        bool loops) {
  const AxisShape x = AroundAxis(single, ctx.attributes().i64("axis"));
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select(base));
  const uint64_t repeats = static_cast<uint64_t>(ctx.attributes().i64("repeats"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.StridedGroups(*kernel, ctx.output_count_of(), loops ? repeats + 1 : 0));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.out())
                      .U32(x.outer * x.extent)
                      .U32(repeats)
                      .U32(x.inner)
                      .Grid(groups));
}

absl::Status LowerRepeat(LowerContext& ctx) {
  return EmitRepeat(ctx, "repeat_u32", ctx.input_shape(0), /*loops=*/false);
}

absl::Status LowerRepeatBackward(LowerContext& ctx) {
  return EmitRepeat(ctx, "repeat_backward_f32", ctx.output_shape(), /*loops=*/true);
}

void AddRepeat(std::vector<OpDef>& rows) {
  OpDef row = MakeRow({"repeat_interleave", kFamily,
                       "y = each slice of x along the axis, `repeats` times one behind the other",
                       "x [..], y [..] with `repeats` times the extent at the axis"},
                      {Operand("x", kWordTypes)}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("repeats"), IntegerAttribute("axis")};
  row.rejects = "an axis that x does not have; repeats below 1";
  row.kernels = {"repeat_u32"};
  row.infer = InferRepeat;
  row.adjoint = AdjointRepeat;
  row.lower = LowerRepeat;
  rows.push_back(row);

  row = BackwardRow(row,
                    {"dx = sum of the `repeats` copies of each slice along the axis",
                     "g [..], dx [..] with the extent at the axis divided by `repeats`"},
                    {Operand("g")}, {{.name = "dx"}});
  row.rejects = "an axis that g does not have; repeats that do not divide its extent";
  row.kernels = {"repeat_backward_f32"};
  row.infer = InferRepeatBackward;
  row.lower = LowerRepeatBackward;
  rows.push_back(row);
}

// ---- causal_mask ----

absl::Status InferCausalMask(InferContext& ctx) {
  if (ctx.rank(0) < 2) return ctx.Fail("the operand has rank 1, at least 2 is needed");
  return ctx.AddResult(DType::F32, ctx.shape(0));
}

absl::Status AdjointCausalMask(AdjointContext& ctx) { return ctx.EmitBackward({ctx.grad()}); }

absl::Status EmitCausalMask(LowerContext& ctx, float fill) {
  const Shape& shape = ctx.input_shape(0);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("causal_mask_f32"));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.out())
                      .U32(ctx.input_count_of(0) / shape.back())
                      .U32(shape[shape.size() - 2])
                      .U32(shape.back())
                      .F32(fill)
                      .Grid(ctx.StridedGroups(*kernel, ctx.output_count_of())));
}

absl::Status LowerCausalMask(LowerContext& ctx) { return EmitCausalMask(ctx, -1e9f); }
absl::Status LowerCausalMaskBackward(LowerContext& ctx) { return EmitCausalMask(ctx, 0); }

void AddCausalMask(std::vector<OpDef>& rows) {
  OpDef row =
      MakeRow({"causal_mask", kFamily, "y[.., q, k] = scores[.., q, k] for k <= q, else -1e9",
               "scores [.., Tq, Tk], y [.., Tq, Tk]"},
              {Operand("scores")}, {{.name = "y"}});
  row.rejects = "scores of rank 1";
  row.kernels = {"causal_mask_f32"};
  row.infer = InferCausalMask;
  row.adjoint = AdjointCausalMask;
  row.lower = LowerCausalMask;
  rows.push_back(row);

  row = BackwardRow(row,
                    {"dscores[.., q, k] = g[.., q, k] for k <= q, else 0",
                     "g [.., Tq, Tk], dscores [.., Tq, Tk]"},
                    {Operand("g")}, {{.name = "dscores"}});
  row.rejects = "g of rank 1";
  row.kernels = {"causal_mask_f32"};
  row.lower = LowerCausalMaskBackward;
  rows.push_back(row);
}

}  // namespace

std::vector<OpDef> RepeatOps() {
  std::vector<OpDef> rows;
  AddRepeat(rows);
  AddCausalMask(rows);
  return rows;
}

}  // namespace oa::ir
