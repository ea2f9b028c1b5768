// Products of packed rows with the weights of their expert: grouped_gemm_m and grouped_linear_m.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/grouped_product.h"
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
    return ctx.Fail("the input has ", ctx.shape(i)[1], " features, the weights ",
                    ShapeText(weight), " have ", weight[2]);
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

OperandDef Offsets() {
  return {.name = "offsets", .dtypes = Only(DType::U32), .differentiable = false};
}

template <bool kBias>
OpDef ForwardRow(const char* name) {
  OpDef row;
  row.name = name;
  row.family = kFamily;
  row.equation = std::string("y[r, n] = sum_k x[r, k] * weight[e, n, k]") +
                 (kBias ? " + bias[e, n]" : "") +
                 " for the expert e with offsets[e] <= r < offsets[e + 1]; zeros for a row without";
  row.shapes = kBias ? "x [R, K], weight [E, N, K], bias [E, N], offsets u32 [E + 1], y [R, N]"
                     : "x [R, K], weight [E, N, K], offsets u32 [E + 1], y [R, N]";
  row.operands = {{.name = "x"}, {.name = "weight"}};
  if (kBias) row.operands.push_back({.name = "bias"});
  row.operands.push_back(Offsets());
  row.results = {{.name = "y"}};
  row.infer = Infer<kBias>;
  row.adjoint = Adjoint<kBias>;
  row.lower = Lower<kBias>;
  return row;
}

template <bool kBias>
OpDef BackwardRow(const char* name) {
  OpDef row;
  row.name = name;
  row.family = kFamily;
  row.equation = std::string(
                     "dx[r, k] = sum_n g[r, n] * weight[e(r), n, k]; dweight[e, n, k] = sum over "
                     "the rows r of e of g[r, n] * x[r, k]") +
                 (kBias ? "; dbias[e, n] = sum over them of g[r, n]" : "");
  row.shapes = std::string("g [R, N], x, dx [R, K], weight, dweight [E, N, K], offsets u32 [E + 1]") +
               (kBias ? ", dbias [E, N]" : "");
  row.operands = {{.name = "g", .differentiable = false},
                  {.name = "x", .differentiable = false},
                  {.name = "weight", .differentiable = false},
                  Offsets()};
  row.results = {{.name = "dx", .optional = true}, {.name = "dweight", .optional = true}};
  if (kBias) row.results.push_back({.name = "dbias", .optional = true});
  row.infer = InferBackward<kBias>;
  row.lower = LowerBackward<kBias>;
  return row;
}

}  // namespace

std::vector<OpDef> GroupedProductOps() {
  return {ForwardRow<false>("grouped_gemm_m"), BackwardRow<false>("grouped_gemm_m_backward"),
          ForwardRow<true>("grouped_linear_m"), BackwardRow<true>("grouped_linear_m_backward")};
}

}  // namespace oa::ir
