// The last axis by index: gather_last_dim, top_k and top_k_mask; a part of the index family.
#include <algorithm>
#include <utility>

#include "ir/grid.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "index";
constexpr uint64_t kMaxPicks = 1024;
constexpr uint64_t kBatch = 4;  // of top_k.comp

// ---- gather_last_dim ----

absl::Status InferGatherLast(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  OA_RETURN_IF_ERROR(ctx.RequireShape(1, {ctx.shape(0)[0], ctx.shape(1)[1]}));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

absl::Status AdjointGatherLast(AdjointContext& ctx) {
  const int64_t width = static_cast<int64_t>(ctx.shape(ctx.input(0))[1]);
  OA_ASSIGN_OR_RETURN(const ValueId dx,
                      ctx.Emit("gather_last_dim_backward", {ctx.grad(), ctx.input(1)},
                               Attributes().I64("width", width)));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

absl::Status LowerGatherLast(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("gather_last_f32"));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.in(1))
                      .Buffer(ctx.out())
                      .U32(ctx.input_shape(0)[0])
                      .U32(ctx.input_shape(0)[1])
                      .U32(ctx.input_shape(1)[1])
                      .Grid(ctx.StridedGroups(*kernel, ctx.output_count_of())));
}

// The result [T, width] of an operator with indices [T, K] at operand `indices`.
absl::Status AddWide(InferContext& ctx, int indices) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(indices, 2));
  const int64_t width = ctx.attributes().i64("width");
  if (width < 1) return ctx.Fail("attribute 'width' is ", width, ", must be at least 1");
  return ctx.AddResult(DType::F32, {ctx.shape(indices)[0], static_cast<uint64_t>(width)});
}

absl::Status InferGatherLastBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(1, 0));
  return AddWide(ctx, 1);
}

// All operands, then result [T, width], T, width and K.
absl::Status LowerWide(LowerContext& ctx, absl::string_view base) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select(base));
  KernelCall call(kernel);
  for (int i = 0; i < ctx.input_count(); ++i) call.Buffer(ctx.in(i));
  call.Buffer(ctx.out()).U32(ctx.output_shape()[0]).U32(ctx.output_shape()[1]);
  const uint64_t picks = ctx.input_shape(0)[1];
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.StridedGroups(*kernel, ctx.output_count_of(), picks + 1));
  call.U32(picks).Grid(groups);
  return ctx.Emit(std::move(call));
}

absl::Status LowerGatherLastBackward(LowerContext& ctx) {
  return LowerWide(ctx, "gather_last_backward_f32");
}

void AddGatherLast(std::vector<OpDef>& rows) {
  const OperandDef indices = DetachedOperand("indices", Only(DType::I32));
  OpDef row = MakeRow({"gather_last_dim", kFamily,
                       "y[t, k] = x[t, indices[t, k]]; 0 where the index is not in [0, E)",
                       "x [T, E], indices [T, K], y [T, K]"},
                      {Operand("x"), indices}, {{.name = "y"}});
  row.rejects = "operands not of rank 2 or for different T";
  row.kernels = {"gather_last_f32"};
  row.infer = InferGatherLast;
  row.adjoint = AdjointGatherLast;
  row.lower = LowerGatherLast;
  rows.push_back(row);

  row = BackwardRow(row,
                    {"dx[t, e] = sum of g[t, k] over the k with indices[t, k] == e, k increasing",
                     "g [T, K], indices [T, K], dx [T, width]"},
                    {Operand("g"), indices}, {{.name = "dx"}});
  row.attributes = {IntegerAttribute("width")};
  row.kernels = {"gather_last_backward_f32"};
  row.rejects = "indices not shaped like g; a width below 1";
  row.infer = InferGatherLastBackward;
  row.lower = LowerGatherLastBackward;
  rows.push_back(row);
}

// ---- top_k, top_k_mask ----

absl::Status InferTopK(InferContext& ctx) {
  const int64_t k = ctx.attributes().i64("k");
  const uint64_t most = std::min(ctx.shape(0).back(), kMaxPicks);
  if (k < 1 || static_cast<uint64_t>(k) > most) {
    return ctx.Fail("attribute 'k' is ", k, ", must be from 1 to ", most,
                    ", the last extent and at most ", kMaxPicks);
  }
  Shape shape = ctx.shape(0);
  shape.back() = static_cast<uint64_t>(k);
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, shape));
  return ctx.AddResult(DType::I32, shape);
}

// Picks that one dispatch can find: each is a walk over the row, and CPU devices limit the
// iterations of all of them together.
uint64_t PicksOfDispatch(const LowerContext& ctx, uint64_t walk, uint64_t picks) {
  return ctx.profile().is_cpu ? std::clamp<uint64_t>(kLoopBudget / (walk + 1), 1, picks) : picks;
}

absl::Status LowerTopK(LowerContext& ctx) {
  const uint64_t columns = ctx.input_shape(0).back(), picks = ctx.output_shape().back();
  const uint64_t rows = ctx.input_count_of(0) / columns;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("top_k_f32"));
  const uint64_t walk = CeilDiv(columns, kBatch * kernel->local_size[0]) + 2;
  const uint64_t most = PicksOfDispatch(ctx, walk, picks);
  for (uint64_t first = 0; first < picks; first += most) {
    const uint64_t count = std::min(most, picks - first);
    OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(rows, count * walk));
    KernelCall call(kernel);
    call.Buffer(ctx.in(0));
    call.Buffer(first == 0 ? BufferSlice() : ctx.out(0));
    call.Buffer(first == 0 ? BufferSlice() : ctx.out(1));
    call.Buffer(ctx.out(0)).Buffer(ctx.out(1));
    call.U32(rows).U32(columns).U32(picks).U32(first).U32(count);
    OA_RETURN_IF_ERROR(ctx.Emit(std::move(call.Grid(groups))));
  }
  return absl::OkStatus();
}

absl::Status InferTopKMask(InferContext& ctx) { return AddWide(ctx, 0); }

absl::Status LowerTopKMask(LowerContext& ctx) { return LowerWide(ctx, "top_k_mask_f32"); }

void AddTopK(std::vector<OpDef>& rows) {
  OpDef row =
      MakeRow({"top_k", kFamily,
               "values = the k largest of each row, descending, equal ones by lower index, NaN "
               "first; indices = where they are",
               "x [.., n], values [.., k], indices [.., k]; 1 <= k <= min(n, 1024)"},
              {Operand("x")}, {DetachedResult("values"), DetachedResult("indices")});
  row.attributes = {IntegerAttribute("k")};
  row.rejects = "k not from 1 to the smaller of the last extent and 1024";
  row.kernels = {"top_k_f32"};
  row.infer = InferTopK;
  row.lower = LowerTopK;
  rows.push_back(row);

  row = MakeRow({"top_k_mask", kFamily, "mask[t, e] = 1 when some indices[t, k] == e, else 0",
                 "indices [T, K], mask [T, width]"},
                {DetachedOperand("indices", Only(DType::I32))}, {DetachedResult("mask")});
  row.attributes = {IntegerAttribute("width")};
  row.rejects = "indices not of rank 2; a width below 1";
  row.kernels = {"top_k_mask_f32"};
  row.infer = InferTopKMask;
  row.lower = LowerTopKMask;
  rows.push_back(row);
}

}  // namespace

std::vector<OpDef> TopKOps() {
  std::vector<OpDef> rows;
  AddGatherLast(rows);
  AddTopK(rows);
  return rows;
}

}  // namespace oa::ir
