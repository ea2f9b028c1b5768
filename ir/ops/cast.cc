// Element types and constants: cast, detach, full, fill.
#include "ir/elementwise.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "cast";

bool IsFloating(DType dtype) { return dtype == DType::F32 || dtype == DType::BF16; }

DType TargetType(const Attributes& attributes) { return *ParseDType(attributes.token("dtype")); }

// ---- cast ----

absl::Status InferCast(InferContext& ctx) {
  const DType target = TargetType(ctx.attributes());
  if (target == ctx.dtype(0)) return ctx.AddView(0, ctx.shape(0));
  return ctx.AddResult(target, ctx.shape(0));
}

absl::Status AdjointCast(AdjointContext& ctx) {
  const DType source = ctx.graph().value(ctx.input(0)).dtype;
  const DType target = TargetType(ctx.attributes());
  if (!IsFloating(source) || !IsFloating(target)) return absl::OkStatus();
  ValueId dx = ctx.grad();
  if (source != target) {
    OA_ASSIGN_OR_RETURN(dx, ctx.Emit("cast", {dx}, Attributes().Token("dtype", DTypeName(source))));
  }
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

// Results other than F32. The kernel writes whole words, several small elements at a time.
absl::Status EmitCastKernel(LowerContext& ctx) {
  const uint64_t count = ctx.output_count_of();
  if (count == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("cast"));
  const DType target = ctx.output_dtype();
  const uint64_t words = (count * SizeOf(target) + 3) / 4;
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.out())
                      .U32(count)
                      .Constant("source", static_cast<uint32_t>(ctx.input_dtype(0)))
                      .Constant("target", static_cast<uint32_t>(target))
                      .Flops(count)
                      .Grid(ctx.StridedGroups(*kernel, words)));
}

absl::Status LowerCast(LowerContext& ctx) {
  if (ctx.input_dtype(0) == ctx.output_dtype()) return absl::OkStatus();
  if (ctx.output_dtype() != DType::F32) return EmitCastKernel(ctx);
  EwBuilder b(ctx.output_count_of());
  b.Output(b.Op(OA_EW_COPY, b.Input(ctx.Ew(0))), ctx.out());
  return ctx.Emit(b.Build());
}

OpDef CastRow() {
  OpDef row = MakeRow(
      {"cast", kFamily,
       "y = x as dtype: bf16 rounds to nearest even, integers truncate and saturate, NaN becomes 0",
       "x [..], y [..]; the same dtype is a view"},
      {Operand("x", kAnyType)}, {{.name = "y"}});
  row.attributes = {{"dtype", AttributeKind::kToken, {}}};
  for (int i = 0; i < kDTypeCount; ++i) {
    row.attributes[0].tokens.emplace_back(DTypeName(static_cast<DType>(i)));
  }
  row.allow_empty = true;
  row.infer = InferCast;
  row.rejects = kNothingMore;
  row.notes = "Has a gradient between f32 and bf16 only; integer casts cut it.";
  row.adjoint = AdjointCast;
  row.lower = LowerCast;
  row.kernels = {kElementwise, "cast"};
  return row;
}

// ---- detach ----

OpDef DetachRow() {
  OpDef row =
      MakeRow({"detach", kFamily, "y = x, without a gradient", "input [..], y [..]; a view"},
              {DetachedOperand("input", kAnyType)}, {DetachedResult("y")});
  row.allow_empty = true;
  row.rejects = kNothingMore;
  row.infer = [](InferContext& ctx) { return ctx.AddView(0, ctx.shape(0)); };
  return row;
}

// ---- full, fill ----

absl::Status InferFull(InferContext& ctx) {
  Shape shape;
  for (int64_t extent : ctx.attributes().list("shape")) {
    if (extent < 0) return ctx.Fail("attribute 'shape' has the negative extent ", extent);
    shape.push_back(static_cast<uint64_t>(extent));
  }
  return ctx.AddResult(DType::F32, shape);
}

absl::Status InferFill(InferContext& ctx) {
  ctx.AddInPlace(0);
  return absl::OkStatus();
}

absl::Status LowerFill(LowerContext& ctx) {
  const uint64_t count = ctx.output_count_of();
  if (count == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("fill_f32"));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.out())
                      .U32(count)
                      .F32(ctx.attributes().f32("value"))
                      .Grid(ctx.StridedGroups(*kernel, count)));
}

OpDef FullRow() {
  OpDef row = MakeRow({"full", kFamily, "y = value", "y [shape]"}, {}, {DetachedResult("y")});
  row.attributes = {{"shape", AttributeKind::kI64List}, RealAttribute("value")};
  row.allow_empty = true;
  row.rejects = "a negative extent; a rank of 0 or above 8";
  row.infer = InferFull;
  row.lower = LowerFill;
  row.kernels = {"fill_f32"};
  return row;
}

OpDef FillRow() {
  OpDef row = MakeRow({"fill", kFamily, "dst = value, in place", "dst [..]"},
                      {MutatedOperand("dst")}, {DetachedResult("dst")});
  row.attributes = {RealAttribute("value")};
  row.allow_empty = true;
  row.rejects = kNothingMore;
  row.infer = InferFill;
  row.lower = LowerFill;
  row.kernels = {"fill_f32"};
  return row;
}

}  // namespace

std::vector<OpDef> CastOps() { return {CastRow(), DetachRow(), FullRow(), FillRow()}; }

}  // namespace oa::ir
