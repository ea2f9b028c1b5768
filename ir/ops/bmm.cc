// Batched products: bmm, bmm_nt and bmm_tn. The three are closed under differentiation, so none
// needs a backward row.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/matmul.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Which operand is stored transposed.
enum class Form { kPlain, kNt, kTn };

struct Sizes {
  uint64_t batch, m, p;
  uint64_t k, right_k;  // equal in a valid call
};

Sizes SizesOf(Form form, const Shape& left, const Shape& right) {
  const int left_k = form == Form::kTn ? 1 : 2;
  const int right_k = form == Form::kNt ? 2 : 1;
  return {left[0], left[3 - left_k], right[3 - right_k], left[left_k], right[right_k]};
}

template <Form kForm>
absl::Status Infer(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 3));
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 3));
  const Sizes s = SizesOf(kForm, ctx.shape(0), ctx.shape(1));
  if (ctx.shape(1)[0] != s.batch) {
    return ctx.Fail("the batch extents must agree: ", ShapeText(ctx.shape(0)), " and ",
                    ShapeText(ctx.shape(1)));
  }
  if (s.k != s.right_k) {
    return ctx.Fail("the summed extents must agree: ", s.k, " of ", ShapeText(ctx.shape(0)),
                    " and ", s.right_k, " of ", ShapeText(ctx.shape(1)));
  }
  return ctx.AddResult(DType::F32, {s.batch, s.m, s.p});
}

template <Form kForm>
absl::Status Lower(LowerContext& ctx) {
  const Sizes s = SizesOf(kForm, ctx.input_shape(0), ctx.input_shape(1));
  return EmitProduct(
      ctx, DenseProduct({ctx.in(0), kForm == Form::kTn}, {ctx.in(1), kForm == Form::kNt}, s.m, s.p,
                        s.k, ctx.out(), s.batch));
}

// Records `op`(first, second) as the gradient of operand `i` if that is needed.
absl::Status EmitGradient(AdjointContext& ctx, int i, const char* op, ValueId first,
                          ValueId second) {
  if (!ctx.needs(i)) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const ValueId gradient, ctx.Emit(op, {first, second}));
  ctx.SetGrad(i, gradient);
  return absl::OkStatus();
}

absl::Status AdjointPlain(AdjointContext& ctx) {
  OA_RETURN_IF_ERROR(EmitGradient(ctx, 0, "bmm_nt", ctx.grad(), ctx.input(1)));
  return EmitGradient(ctx, 1, "bmm_tn", ctx.input(0), ctx.grad());
}

absl::Status AdjointNt(AdjointContext& ctx) {
  OA_RETURN_IF_ERROR(EmitGradient(ctx, 0, "bmm", ctx.grad(), ctx.input(1)));
  return EmitGradient(ctx, 1, "bmm_tn", ctx.grad(), ctx.input(0));
}

absl::Status AdjointTn(AdjointContext& ctx) {
  OA_RETURN_IF_ERROR(EmitGradient(ctx, 0, "bmm_nt", ctx.input(1), ctx.grad()));
  return EmitGradient(ctx, 1, "bmm", ctx.input(0), ctx.grad());
}

template <Form kForm>
OpDef Row(const char* name, const char* equation, const char* shapes,
          absl::Status (*adjoint)(AdjointContext&)) {
  OpDef row = MakeRow({name, "blas", equation, shapes}, {Operand("left"), Operand("right")},
                      {{.name = "y"}});
  row.infer = Infer<kForm>;
  row.rejects = "left or right not of rank 3; batch or summed extents that differ";
  row.adjoint = adjoint;
  row.lower = Lower<kForm>;
  row.kernels = ProductKernels();
  return row;
}

}  // namespace

std::vector<OpDef> BatchedProductOps() {
  return {Row<Form::kPlain>("bmm", "y[n,m,p] = sum_k left[n,m,k] * right[n,k,p]",
                            "left [N,M,K], right [N,K,P], y [N,M,P]", AdjointPlain),
          Row<Form::kNt>("bmm_nt", "y[n,m,p] = sum_k left[n,m,k] * right[n,p,k]",
                         "left [N,M,K], right [N,P,K], y [N,M,P]", AdjointNt),
          Row<Form::kTn>("bmm_tn", "y[n,m,p] = sum_k left[n,k,m] * right[n,k,p]",
                         "left [N,K,M], right [N,K,P], y [N,M,P]", AdjointTn)};
}

}  // namespace oa::ir
