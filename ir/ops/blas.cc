// Products of two matrices: matmul, mat_mul_nt and linear with their adjoints.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/matmul.h"
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
  Product product;
  product.a = MatrixView::Dense(ctx.in(0), s.k);
  product.b = MatrixView::Transposed(ctx.in(1), s.k);
  product.m = s.rows;
  product.n = s.n;
  product.k = s.k;
  if (ctx.input_count() > 2) product.bias = ctx.in_or_null(2);
  product.out = ctx.out();
  return EmitProduct(ctx, product);
}

absl::Status LowerMatmul(LowerContext& ctx) {
  const Sizes s = {ctx.input_shape(0)[0], ctx.input_shape(1)[1], ctx.input_shape(0)[1]};
  Product product;
  product.a = MatrixView::Dense(ctx.in(0), s.k);
  product.b = MatrixView::Dense(ctx.in(1), s.n);
  product.m = s.rows;
  product.n = s.n;
  product.k = s.k;
  product.out = ctx.out();
  return EmitProduct(ctx, product);
}

// dx = g w; dw = g^T x; dbias = column sum of g (linear only).
absl::Status LowerNtBackward(LowerContext& ctx) {
  const Sizes s = {Rows(ctx.input_shape(0)), ctx.input_shape(2)[0], ctx.input_shape(2)[1]};
  if (ctx.has_output(0)) {
    Product data;
    data.a = MatrixView::Dense(ctx.in(0), s.n);
    data.b = MatrixView::Dense(ctx.in(2), s.k);
    data.m = s.rows;
    data.n = s.k;
    data.k = s.n;
    data.out = ctx.out(0);
    OA_RETURN_IF_ERROR(EmitProduct(ctx, data));
  }
  if (ctx.has_output(1)) {
    Product weight;
    weight.a = MatrixView::Transposed(ctx.in(0), s.n);
    weight.b = MatrixView::Dense(ctx.in(1), s.k);
    weight.m = s.n;
    weight.n = s.k;
    weight.k = s.rows;
    weight.out = ctx.out(1);
    OA_RETURN_IF_ERROR(EmitProduct(ctx, weight));
  }
  if (ctx.node().outputs.size() < 3 || !ctx.has_output(2)) return absl::OkStatus();
  return EmitColumnSum(ctx, ctx.in(0), s.rows, s.n, ctx.out(2));
}

// da = g b^T; db = a^T g.
absl::Status LowerMatmulBackward(LowerContext& ctx) {
  const Sizes s = {ctx.input_shape(1)[0], ctx.input_shape(2)[1], ctx.input_shape(1)[1]};
  if (ctx.has_output(0)) {
    Product left;
    left.a = MatrixView::Dense(ctx.in(0), s.n);
    left.b = MatrixView::Transposed(ctx.in(2), s.n);
    left.m = s.rows;
    left.n = s.k;
    left.k = s.n;
    left.out = ctx.out(0);
    OA_RETURN_IF_ERROR(EmitProduct(ctx, left));
  }
  if (!ctx.has_output(1)) return absl::OkStatus();
  Product right;
  right.a = MatrixView::Transposed(ctx.in(1), s.k);
  right.b = MatrixView::Dense(ctx.in(0), s.n);
  right.m = s.k;
  right.n = s.n;
  right.k = s.rows;
  right.out = ctx.out(1);
  return EmitProduct(ctx, right);
}

ResultDef Optional(const char* name) {
  ResultDef result;
  result.name = name;
  result.optional = true;
  return result;
}

OpDef Row(const char* name, const char* equation, const char* shapes) {
  OpDef row;
  row.name = name;
  row.family = "blas";
  row.equation = equation;
  row.shapes = shapes;
  return row;
}

OperandDef Operand(const char* name, bool optional = false) {
  OperandDef operand;
  operand.name = name;
  operand.optional = optional;
  return operand;
}

OpDef Forward(OpDef row, std::vector<OperandDef> operands, absl::Status (*infer)(InferContext&),
              absl::Status (*lower)(LowerContext&)) {
  row.operands = std::move(operands);
  row.results = {{"y"}};
  row.infer = infer;
  row.adjoint = Adjoint;
  row.lower = lower;
  return row;
}

OpDef Backward(OpDef row, std::vector<OperandDef> operands, std::vector<ResultDef> results,
               absl::Status (*infer)(InferContext&), absl::Status (*lower)(LowerContext&)) {
  row.operands = std::move(operands);
  row.results = std::move(results);
  row.infer = infer;
  row.lower = lower;
  return row;
}

}  // namespace

std::vector<OpDef> BlasOps() {
  return {
      Forward(Row("matmul", "y[i,j] = sum_k a[i,k] * b[k,j]", "a [M,K], b [K,N], y [M,N]"),
              {Operand("a"), Operand("b")}, InferMatmul, LowerMatmul),
      Backward(Row("matmul_backward", "da = g b^T, db = a^T g",
                   "g [M,N], a [M,K], b [K,N], da [M,K], db [K,N]"),
               {Operand("g"), Operand("a"), Operand("b")}, {Optional("da"), Optional("db")},
               InferMatmulBackward, LowerMatmulBackward),
      Forward(Row("mat_mul_nt", "y[r,n] = sum_k a[r,k] * b[n,k]", "a [..,K], b [N,K], y [..,N]"),
              {Operand("a"), Operand("b")}, InferNt, LowerNt),
      Backward(Row("mat_mul_nt_backward", "da = g b, db = g^T a",
                   "g [..,N], a [..,K], b [N,K], da [..,K], db [N,K]"),
               {Operand("g"), Operand("a"), Operand("b")}, {Optional("da"), Optional("db")},
               InferNtBackward, LowerNtBackward),
      Forward(Row("linear", "y[r,n] = sum_k x[r,k] * weight[n,k] + bias[n]",
                  "x [..,K], weight [N,K], bias [N] or absent, y [..,N]"),
              {Operand("x"), Operand("weight"), Operand("bias", /*optional=*/true)}, InferNt,
              LowerNt),
      Backward(Row("linear_backward", "dx = g weight, dweight = g^T x, dbias = column sum of g",
                   "g [..,N], x [..,K], weight [N,K], dx [..,K], dweight [N,K], dbias [N]"),
               {Operand("g"), Operand("x"), Operand("weight")},
               {Optional("dx"), Optional("dweight"), Optional("dbias")}, InferLinearBackward,
               LowerNtBackward),
  };
}

}  // namespace oa::ir
