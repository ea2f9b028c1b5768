// Products of packed rows with the weights of their expert: grouped_gemm_m and grouped_linear_m.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/grouped_product.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "moe";

// input [R, K], weight [E, N, K].
struct Sizes {
  uint64_t rows, features, outputs, experts;
};

Sizes SizesOf(const Shape& input, const Shape& weight) {
  return {input[0], input[1], weight[1], weight[0]};
}

// input and weight at operands `i` and `i + 1`, offsets at `offsets`.
absl::Status CheckProduct(const InferContext& ctx, int i, int offsets) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(i, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(i + 1, 3));
  const Shape& weight = ctx.shape(i + 1);
  if (ctx.shape(i)[1] != weight[2]) {
    return ctx.Fail("the input has ", ctx.shape(i)[1], " features, the weights ", ShapeText(weight),
                    " have ", weight[2]);
  }
  return ctx.RequireShape(offsets, {weight[0] + 1});
}

// (input, weight, offsets) or (input, weight, bias, offsets).
template <bool kBias>
absl::Status Infer(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckProduct(ctx, 0, kBias ? 3 : 2));
  const Sizes s = SizesOf(ctx.shape(0), ctx.shape(1));
  if (kBias) OA_RETURN_IF_ERROR(ctx.RequireShape(2, {s.experts, s.outputs}));
  return ctx.AddResult(DType::F32, {s.rows, s.outputs});
}

// (g, input, weight, offsets).
template <bool kBias>
absl::Status InferBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckProduct(ctx, 1, 3));
  const Sizes s = SizesOf(ctx.shape(1), ctx.shape(2));
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {s.rows, s.outputs}));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(1)));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(2)));
  return kBias ? ctx.AddResult(DType::F32, {s.experts, s.outputs}) : absl::OkStatus();
}

template <bool kBias>
absl::Status Adjoint(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1), ctx.input(kBias ? 3 : 2)});
}

template <bool kBias>
absl::Status Lower(LowerContext& ctx) {
  const Sizes s = SizesOf(ctx.input_shape(0), ctx.input_shape(1));
  Product product;
  product.a = MatrixView::Dense(ctx.in(0), s.features);
  product.b = MatrixView::Transposed(ctx.in(1), s.features);
  product.b.batch_stride = s.outputs * s.features;
  product.m = s.rows;
  product.n = s.outputs;
  product.k = s.features;
  if (kBias) product.bias = ctx.in(2);
  product.out = ctx.out();
  return EmitGroupedProduct(ctx, {ctx.in(kBias ? 3 : 2), s.experts}, product);
}

// dinput[r, k] = sum_n g[r, n] * weight[e(r), n, k].
absl::Status EmitInputGradient(LowerContext& ctx, const Groups& groups, const Sizes& s) {
  Product product;
  product.a = MatrixView::Dense(ctx.in(0), s.outputs);
  product.b = MatrixView::Dense(ctx.in(2), s.features);
  product.b.batch_stride = s.outputs * s.features;
  product.m = s.rows;
  product.n = s.features;
  product.k = s.outputs;
  product.out = ctx.out(0);
  return EmitGroupedProduct(ctx, groups, product);
}

// dweight[e, n, k] = sum over the rows r of e of g[r, n] * input[r, k].
absl::Status EmitWeightGradient(LowerContext& ctx, const Groups& groups, const Sizes& s) {
  Product sum;
  sum.a = MatrixView::Transposed(ctx.in(0), s.outputs);
  sum.b = MatrixView::Dense(ctx.in(1), s.features);
  sum.m = s.outputs;
  sum.n = s.features;
  sum.k = s.rows;
  sum.out = ctx.out(1);
  return EmitGroupedSum(ctx, groups, sum);
}

template <bool kBias>
absl::Status LowerBackward(LowerContext& ctx) {
  const Sizes s = SizesOf(ctx.input_shape(1), ctx.input_shape(2));
  const Groups groups = {ctx.in(3), s.experts};
  if (ctx.has_output(0)) OA_RETURN_IF_ERROR(EmitInputGradient(ctx, groups, s));
  if (ctx.has_output(1)) OA_RETURN_IF_ERROR(EmitWeightGradient(ctx, groups, s));
  if (!kBias || !ctx.has_output(2)) return absl::OkStatus();
  return EmitGroupedColumnSum(ctx, groups, ctx.in(0), s.rows, s.outputs, ctx.out(2));
}

std::vector<std::string> GroupedKernels() {
  return {"matmul_grouped_f32", "matmul_grouped_f32_t128"};
}

template <bool kBias>
std::vector<OpDef> Rows(const char* name) {
  const OperandDef offsets = DetachedOperand("offsets", Only(DType::U32));
  std::vector<OperandDef> operands = {Operand("x"), Operand("weight"), Operand("bias"), offsets};
  if (!kBias) operands.erase(operands.begin() + 2);
  OpDef row = MakeRow(
      {name, kFamily,
       std::string("y[r, n] = sum_k x[r, k] * weight[e, n, k]") + (kBias ? " + bias[e, n]" : "") +
           " for the expert e with offsets[e] <= r < offsets[e + 1]; zeros for a row without",
       kBias ? "x [R, K], weight [E, N, K], bias [E, N], offsets u32 [E + 1], y [R, N]"
             : "x [R, K], weight [E, N, K], offsets u32 [E + 1], y [R, N]"},
      operands, {{.name = "y"}});
  row.rejects =
      std::string("x not of rank 2, weight not of rank 3, or different K; offsets not [E + 1]") +
      (kBias ? "; bias not [E, N]" : "");
  row.notes = "Rows outside all groups are zeros and get no gradient; offsets are clipped to R.";
  row.kernels = GroupedKernels();
  row.infer = Infer<kBias>;
  row.adjoint = Adjoint<kBias>;
  row.lower = Lower<kBias>;

  OpDef backward = BackwardRow(
      row,
      {std::string("dx[r, k] = sum_n g[r, n] * weight[e(r), n, k]; dweight[e, n, k] = sum over the "
                   "rows r of e of g[r, n] * x[r, k]") +
           (kBias ? "; dbias[e, n] = sum over them of g[r, n]" : ""),
       std::string("g [R, N], x, dx [R, K], weight, dweight [E, N, K], offsets u32 [E + 1]") +
           (kBias ? ", dbias [E, N]" : "")},
      {Operand("g"), Operand("x"), Operand("weight"), offsets},
      kBias ? OptionalResults({"dx", "dweight", "dbias"}) : OptionalResults({"dx", "dweight"}));
  backward.kernels = GroupedKernels();
  backward.kernels.insert(backward.kernels.end(), {"column_sum_f32", "column_sum_grouped_f32"});
  backward.infer = InferBackward<kBias>;
  backward.lower = LowerBackward<kBias>;
  return {row, backward};
}

}  // namespace

std::vector<OpDef> GroupedProductOps() {
  std::vector<OpDef> rows = Rows<false>("grouped_gemm_m");
  for (const OpDef& row : Rows<true>("grouped_linear_m")) rows.push_back(row);
  return rows;
}

}  // namespace oa::ir
