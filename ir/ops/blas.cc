// Products of two matrices: matmul, mat_mul_nt and linear with their adjoints.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/matmul.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Extents of y[r, n] = sum_k a[r, k] * b(k, n), leading extents of a flattened.
struct Sizes {
  uint64_t rows = 1, n = 1, k = 1;
};

uint64_t Rows(const Shape& shape) {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

// mat_mul_nt and linear: a [.., K], b [N, K].
absl::Status InferNt(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  const uint64_t k = ctx.shape(0).back();
  if (ctx.shape(1)[1] != k) {
    return ctx.Fail("the last extents must agree: ", ShapeText(ctx.shape(0)), " has ", k,
                    " features, ", ShapeText(ctx.shape(1)), " has ", ctx.shape(1)[1]);
  }
  Shape shape = ctx.shape(0);
  shape.back() = ctx.shape(1)[0];
  if (ctx.has(2)) OA_RETURN_IF_ERROR(ctx.RequireShape(2, {ctx.shape(1)[0]}));
  return ctx.AddResult(DType::F32, shape);
}

absl::Status InferMatmul(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  if (ctx.shape(0)[1] != ctx.shape(1)[0]) {
    return ctx.Fail("the inner extents must agree: ", ShapeText(ctx.shape(0)), " times ",
                    ShapeText(ctx.shape(1)));
  }
  return ctx.AddResult(DType::F32, {ctx.shape(0)[0], ctx.shape(1)[1]});
}

// Backward rows take (g, a, b) and give gradients shaped like a and b.
absl::Status InferBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(2, 2));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(1)));
  return ctx.AddResult(DType::F32, ctx.shape(2));
}

absl::Status CheckNtGradient(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(2, 2));
  Shape expected = ctx.shape(1);
  expected.back() = ctx.shape(2)[0];
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, expected));
  if (ctx.shape(1).back() != ctx.shape(2)[1]) return ctx.Fail("the last extents must agree");
  return absl::OkStatus();
}

absl::Status InferNtBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckNtGradient(ctx));
  return InferBackward(ctx);
}

absl::Status InferLinearBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckNtGradient(ctx));
  OA_RETURN_IF_ERROR(InferBackward(ctx));
  return ctx.AddResult(DType::F32, {ctx.shape(2)[0]});
}

absl::Status InferMatmulBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(2, 2));
  if (ctx.shape(1)[1] != ctx.shape(2)[0]) return ctx.Fail("the inner extents must agree");
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {ctx.shape(1)[0], ctx.shape(2)[1]}));
  return InferBackward(ctx);
}

absl::Status Adjoint(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1)});
}

absl::Status LowerNt(LowerContext& ctx) {
  const Sizes s = {Rows(ctx.input_shape(0)), ctx.input_shape(1)[0], ctx.input_shape(1)[1]};
  Product product =
      DenseProduct({ctx.in(0)}, {ctx.in(1), /*transposed=*/true}, s.rows, s.n, s.k, ctx.out());
  if (ctx.input_count() > 2) product.bias = ctx.in_or_null(2);
  return EmitProduct(ctx, product);
}

absl::Status LowerMatmul(LowerContext& ctx) {
  const Sizes s = {ctx.input_shape(0)[0], ctx.input_shape(1)[1], ctx.input_shape(0)[1]};
  return EmitProduct(ctx, DenseProduct({ctx.in(0)}, {ctx.in(1)}, s.rows, s.n, s.k, ctx.out()));
}

// dx = g w; dw = g^T x; dbias = column sum of g (linear only).
absl::Status LowerNtBackward(LowerContext& ctx) {
  const Sizes s = {Rows(ctx.input_shape(0)), ctx.input_shape(2)[0], ctx.input_shape(2)[1]};
  const Factor g = {ctx.in(0)}, x = {ctx.in(1)}, weight = {ctx.in(2)};
  if (ctx.has_output(0)) {
    OA_RETURN_IF_ERROR(EmitProduct(ctx, DenseProduct(g, weight, s.rows, s.k, s.n, ctx.out(0))));
  }
  if (ctx.has_output(1)) {
    const Factor g_transposed = {g.slice, /*transposed=*/true};
    OA_RETURN_IF_ERROR(
        EmitProduct(ctx, DenseProduct(g_transposed, x, s.n, s.k, s.rows, ctx.out(1))));
  }
  if (ctx.node().outputs.size() < 3 || !ctx.has_output(2)) return absl::OkStatus();
  return EmitColumnSum(ctx, ctx.in(0), s.rows, s.n, ctx.out(2));
}

// da = g b^T; db = a^T g.
absl::Status LowerMatmulBackward(LowerContext& ctx) {
  const Sizes s = {ctx.input_shape(1)[0], ctx.input_shape(2)[1], ctx.input_shape(1)[1]};
  const Factor g = {ctx.in(0)};
  if (ctx.has_output(0)) {
    const Factor b_transposed = {ctx.in(2), /*transposed=*/true};
    OA_RETURN_IF_ERROR(
        EmitProduct(ctx, DenseProduct(g, b_transposed, s.rows, s.k, s.n, ctx.out(0))));
  }
  if (!ctx.has_output(1)) return absl::OkStatus();
  const Factor a_transposed = {ctx.in(1), /*transposed=*/true};
  return EmitProduct(ctx, DenseProduct(a_transposed, g, s.k, s.n, s.rows, ctx.out(1)));
}

struct Functions {
  absl::Status (*infer)(InferContext&);
  absl::Status (*lower)(LowerContext&);
};

// A product with operands (left, right, ..) and its backward row, with operands (g, left, right).
void AddRows(const RowText& text, const char* rejects, Functions forward,
             const BackwardText& gradient, Functions backward, std::vector<OperandDef> operands,
             std::vector<OpDef>& rows) {
  OpDef row = MakeRow(text, std::move(operands), {{.name = "y"}});
  row.infer = forward.infer;
  row.rejects = rejects;
  row.adjoint = Adjoint;
  row.lower = forward.lower;
  row.kernels = ProductKernels();
  rows.push_back(row);

  const std::string left = row.operands[0].name, right = row.operands[1].name;
  row = BackwardRow(row, gradient, {{.name = "g"}, {.name = left}, {.name = right}}, {});
  for (const OperandDef& operand : rows.back().operands) {
    row.results.push_back({.name = "d" + operand.name, .optional = true});
  }
  row.infer = backward.infer;
  row.lower = backward.lower;
  row.kernels = ProductKernels();
  rows.push_back(std::move(row));
}

}  // namespace

std::vector<OpDef> BlasOps() {
  std::vector<OpDef> rows;
  AddRows({"matmul", "blas", "y[i,j] = sum_k a[i,k] * b[k,j]", "a [M,K], b [K,N], y [M,N]"},
          "a or b not of rank 2; inner extents that differ", {InferMatmul, LowerMatmul},
          {"da = g b^T, db = a^T g", "g [M,N], a [M,K], b [K,N], da [M,K], db [K,N]"},
          {InferMatmulBackward, LowerMatmulBackward}, {Operand("a"), Operand("b")}, rows);
  AddRows({"mat_mul_nt", "blas", "y[r,n] = sum_k a[r,k] * b[n,k]", "a [..,K], b [N,K], y [..,N]"},
          "b not of rank 2; last extents that differ", {InferNt, LowerNt},
          {"da = g b, db = g^T a", "g [..,N], a [..,K], b [N,K], da [..,K], db [N,K]"},
          {InferNtBackward, LowerNtBackward}, {Operand("a"), Operand("b")}, rows);
  AddRows({"linear", "blas", "y[r,n] = sum_k x[r,k] * weight[n,k] + bias[n]",
           "x [..,K], weight [N,K], bias [N] or absent, y [..,N]"},
          "weight not of rank 2; last extents that differ; a bias that is not [N]",
          {InferNt, LowerNt},
          {"dx = g weight, dweight = g^T x, dbias = column sum of g",
           "g [..,N], x [..,K], weight [N,K], dx [..,K], dweight [N,K], dbias [N]"},
          {InferLinearBackward, LowerNtBackward},
          {Operand("x"), Operand("weight"), OptionalOperand("bias")}, rows);
  return rows;
}

}  // namespace oa::ir
