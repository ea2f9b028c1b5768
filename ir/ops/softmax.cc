// softmax and log_softmax over any axis; a part of the reduce family.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/column_tiling.h"
#include "ir/ops/reduce_rows.h"
#include "ir/ops/rows.h"
#include "ir/ops/shape_attributes.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

absl::Status InferSoftmax(InferContext& ctx) {
  OA_RETURN_IF_ERROR(RequireAxis(ctx, "axis", ctx.attributes().i64("axis")));
  return ctx.AddResult(DType::F32, ctx.shape(0));
}

absl::Status InferSoftmaxBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(1, 0));
  return InferSoftmax(ctx);
}

absl::Status AdjointSoftmax(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.output()});
}

// Both kernels take the shape around the axis; the forward one has prologue and epilogue instead
// of arguments for operand and result.
absl::Status EmitSoftmax(LowerContext& ctx, bool backward, bool logarithm, uint64_t flops) {
  const AxisShape shape = AroundAxis(ctx.output_shape(), ctx.attributes().i64("axis"));
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(backward ? "softmax_backward_f32" : "softmax_f32"));
  const ColumnTiling tiling = ChooseTiling(*kernel, shape);
  const uint64_t tiles = tiling.tiles(shape);
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(tiles, 2 * tiling.blocks(shape.extent) + 2));
  KernelCall call(kernel);
  if (backward) {
    call.Buffer(ctx.in(0)).Buffer(ctx.in(1)).Buffer(ctx.out());
  } else {
    call.Prologue(ctx.in(0)).Epilogue(ctx.out());
  }
  call.U32(shape.outer).U32(shape.extent).U32(shape.inner);
  call.Constant("width", tiling.width)
      .Constant("mode", tiling.mode)
      .Constant("blocks", RegisterBlocks(shape, tiling))
      .Constant("logarithm", logarithm ? 1 : 0)
      .Flops(flops * shape.columns() * shape.extent)
      .Grid(groups);
  return ctx.Emit(std::move(call));
}

template <bool kLogarithm>
absl::Status LowerSoftmax(LowerContext& ctx) {
  return EmitSoftmax(ctx, false, kLogarithm, 25);
}

template <bool kLogarithm>
absl::Status LowerSoftmaxBackward(LowerContext& ctx) {
  return EmitSoftmax(ctx, true, kLogarithm, kLogarithm ? 20 : 4);
}

template <bool kLogarithm>
void AddRows(std::vector<OpDef>& rows) {
  OpDef row = MakeRow(
      {kLogarithm ? "log_softmax" : "softmax", "reduce",
       kLogarithm ? "y = z - ln(sum of e^z), z = x - max x, along the axis; -inf where all are"
                  : "y = e^z / sum of e^z, z = x - max x, along the axis; 0 where all are -inf",
       "x [..], y [..]"},
      {Operand("x")}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("axis")};
  row.infer = InferSoftmax;
  row.rejects = kAxisRejects;
  row.adjoint = AdjointSoftmax;
  row.lower = LowerSoftmax<kLogarithm>;
  row.kernels = {"softmax_f32"};
  rows.push_back(row);

  row = BackwardRow(row,
                    {kLogarithm ? "dx = g - e^y * sum of g along the axis; 0 where all y are -inf"
                                : "dx = y * (g - sum of g * y along the axis)",
                     "g [..], y [..], dx [..]"},
                    {Operand("g"), Operand("y")}, {{.name = "dx"}});
  row.infer = InferSoftmaxBackward;
  row.lower = LowerSoftmaxBackward<kLogarithm>;
  row.kernels = {"softmax_backward_f32"};
  rows.push_back(row);
}

}  // namespace

std::vector<OpDef> SoftmaxOps() {
  std::vector<OpDef> rows;
  AddRows<false>(rows);
  AddRows<true>(rows);
  return rows;
}

}  // namespace oa::ir
