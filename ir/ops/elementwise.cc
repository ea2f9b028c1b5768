// Core arithmetic: broadcasting binaries, unary and scalar functions, comparisons, accumulate.
// Adjoints that are other operators of this family are recorded as those: they need no kernel or
// row of their own and fuse like everything else.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "ir/ops/elementwise_rows.h"
#include "ir/ops/families.h"

namespace oa::ir {
namespace {

constexpr UnaryFamily kFamily = {"elementwise", "x"};

// ---- add, sub, mul, div ----

// NumPy: shapes align on the right; a missing extent counts as 1 and an extent of 1 repeats.
absl::Status InferBroadcast(InferContext& ctx) {
  const Shape& a = ctx.shape(0);
  const Shape& b = ctx.shape(1);
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t from_right = 1; from_right <= out.size(); ++from_right) {
    const uint64_t extent_a = from_right <= a.size() ? a[a.size() - from_right] : 1;
    const uint64_t extent_b = from_right <= b.size() ? b[b.size() - from_right] : 1;
    if (extent_a != extent_b && extent_a != 1 && extent_b != 1) {
      return ctx.Fail("shapes ", ShapeText(a), " and ", ShapeText(b),
                      " do not broadcast: aligned on the right, extents ", extent_a, " and ",
                      extent_b, " are neither equal nor 1");
    }
    out[out.size() - from_right] = extent_a == 1 ? extent_b : extent_a;
  }
  return ctx.AddResult(DType::F32, out);
}

template <uint8_t kOpcode>
absl::Status LowerBinary(LowerContext& ctx) {
  const Shape& shape = ctx.output_shape();
  EwBuilder b(ctx.output_count_of(), shape);
  const EwBuilder::Reg left = b.Input(ctx.Ew(0, shape));
  const EwBuilder::Reg right = b.Input(ctx.Ew(1, shape));
  b.Output(b.Op2(kOpcode, left, right), ctx.out());
  return ctx.Emit(b.Build());
}

// U(v, shape of operand i) of ops.md 3.1: the sum of `v` over the axes that operand `i` repeats on.
absl::StatusOr<ValueId> SumToOperand(AdjointContext& ctx, int i, ValueId v) {
  const Shape target = ctx.shape(ctx.input(i));
  if (ctx.shape(v) == target) return v;
  return ctx.Emit("sum_to", {v},
                  Attributes().List("shape", std::vector<int64_t>(target.begin(), target.end())));
}

absl::Status SetSummed(AdjointContext& ctx, int i, ValueId v) {
  OA_ASSIGN_OR_RETURN(const ValueId sum, SumToOperand(ctx, i, v));
  ctx.SetGrad(i, sum);
  return absl::OkStatus();
}

absl::Status AdjointAdd(AdjointContext& ctx) {
  for (int i : {0, 1}) {
    if (ctx.needs(i)) OA_RETURN_IF_ERROR(SetSummed(ctx, i, ctx.grad()));
  }
  return absl::OkStatus();
}

absl::Status AdjointSub(AdjointContext& ctx) {
  if (ctx.needs(0)) OA_RETURN_IF_ERROR(SetSummed(ctx, 0, ctx.grad()));
  if (!ctx.needs(1)) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const ValueId sum, SumToOperand(ctx, 1, ctx.grad()));
  OA_ASSIGN_OR_RETURN(const ValueId negated, ctx.Emit("neg", {sum}));
  ctx.SetGrad(1, negated);
  return absl::OkStatus();
}

absl::Status AdjointMul(AdjointContext& ctx) {
  for (int i : {0, 1}) {
    if (!ctx.needs(i)) continue;
    OA_ASSIGN_OR_RETURN(const ValueId product, ctx.Emit("mul", {ctx.grad(), ctx.input(1 - i)}));
    OA_RETURN_IF_ERROR(SetSummed(ctx, i, product));
  }
  return absl::OkStatus();
}

// db = U(-g * a / b^2) = -U(g * y) / b: y saves the square, which could overflow, and b is constant
// along the axes that U sums over.
absl::Status AdjointDiv(AdjointContext& ctx) {
  if (ctx.needs(0)) {
    OA_ASSIGN_OR_RETURN(const ValueId quotient, ctx.Emit("div", {ctx.grad(), ctx.input(1)}));
    OA_RETURN_IF_ERROR(SetSummed(ctx, 0, quotient));
  }
  if (!ctx.needs(1)) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const ValueId product, ctx.Emit("mul", {ctx.grad(), ctx.output()}));
  OA_ASSIGN_OR_RETURN(const ValueId sum, SumToOperand(ctx, 1, product));
  OA_ASSIGN_OR_RETURN(const ValueId quotient, ctx.Emit("div", {sum, ctx.input(1)}));
  OA_ASSIGN_OR_RETURN(const ValueId negated, ctx.Emit("neg", {quotient}));
  ctx.SetGrad(1, negated);
  return absl::OkStatus();
}

template <uint8_t kOpcode>
void AddBinary(std::vector<OpDef>& rows, const char* name, const char* equation,
               AdjointFunction adjoint) {
  OpDef row = MakeRow({name, kFamily.name, equation, "a [..], b [..], y [..] = a and b broadcast"},
                      {Operand("a"), Operand("b")}, {{.name = "y"}});
  row.allow_empty = true;
  row.infer = InferBroadcast;
  row.adjoint = adjoint;
  row.rejects = "shapes that do not broadcast";
  row.lower = LowerBinary<kOpcode>;
  row.kernels = {kElementwise};
  rows.push_back(std::move(row));
}

void AddBinaryRows(std::vector<OpDef>& rows) {
  AddBinary<OA_EW_ADD>(rows, "add", "y = a + b", AdjointAdd);
  AddBinary<OA_EW_SUB>(rows, "sub", "y = a - b", AdjointSub);
  AddBinary<OA_EW_MUL>(rows, "mul", "y = a * b", AdjointMul);
  AddBinary<OA_EW_DIV>(rows, "div", "y = a / b", AdjointDiv);
}

// ---- Unary and scalar ----

// y = x + constant.
absl::Status AdjointIdentity(AdjointContext& ctx) {
  ctx.SetGrad(0, ctx.grad());
  return absl::OkStatus();
}

// Linear operators: the same operator applied to g.
absl::Status AdjointLinear(AdjointContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ValueId dx,
                      ctx.Emit(ctx.node().op->name, {ctx.grad()}, ctx.attributes()));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

absl::Status AdjointExp(AdjointContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ValueId dx, ctx.Emit("mul", {ctx.grad(), ctx.output()}));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

absl::Status AdjointLog(AdjointContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ValueId dx, ctx.Emit("div", {ctx.grad(), ctx.input(0)}));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

void AddScalarRows(std::vector<OpDef>& rows) {
  const auto text = [](const char* name, const char* equation, const char* derivative = "") {
    return UnaryText{name, equation, derivative, "scalar"};
  };
  AddUnary<OA_EW_SCALE>(rows, kFamily, text("scale", "y = x * scalar"), AdjointLinear);
  AddUnary<OA_EW_DIV_SCALAR>(rows, kFamily, text("div_scalar", "y = x / scalar"), AdjointLinear);
  AddUnary<OA_EW_ADD_SCALAR>(rows, kFamily, text("add_scalar", "y = x + scalar"), AdjointIdentity);
  AddUnary<OA_EW_SUB_SCALAR>(rows, kFamily, text("sub_scalar", "y = x - scalar"), AdjointIdentity);
  AddUnary<OA_EW_POW, OA_EW_POW_BWD, Saves::kInput>(
      rows, kFamily, text("pow", "y = x^scalar", "dx = g * scalar * x^(scalar - 1)"));
  AddUnary<OA_EW_CLAMP_MIN, OA_EW_CLAMP_MIN_BWD, Saves::kInput>(
      rows, kFamily, text("clamp_min", "y = max(x, scalar)", "dx = x >= scalar ? g : 0"));
  AddUnary<OA_EW_CLAMP_MAX, OA_EW_CLAMP_MAX_BWD, Saves::kInput>(
      rows, kFamily, text("clamp_max", "y = min(x, scalar)", "dx = x <= scalar ? g : 0"));
}

void AddUnaryRows(std::vector<OpDef>& rows) {
  AddUnary<OA_EW_COPY>(rows, kFamily, {"copy", "y = x", ""}, AdjointIdentity);
  AddUnary<OA_EW_NEG>(rows, kFamily, {"neg", "y = -x", ""}, AdjointLinear);
  AddUnary<OA_EW_EXP>(rows, kFamily, {"exp", "y = e^x", ""}, AdjointExp);
  AddUnary<OA_EW_LOG>(rows, kFamily, {"log", "y = ln x", ""}, AdjointLog);
  AddUnary<OA_EW_ABS, OA_EW_ABS_BWD, Saves::kInput>(rows, kFamily,
                                                    {"abs", "y = |x|", "dx = g * sign(x)"});
  AddUnary<OA_EW_SQRT, OA_EW_SQRT_BWD, Saves::kOutput>(rows, kFamily,
                                                       {"sqrt", "y = sqrt(x)", "dx = g / (2 y)"});
  AddUnary<OA_EW_SIN, OA_EW_SIN_BWD, Saves::kInput>(rows, kFamily,
                                                    {"sin", "y = sin x", "dx = g * cos x"});
  AddUnary<OA_EW_COS, OA_EW_COS_BWD, Saves::kInput>(rows, kFamily,
                                                    {"cos", "y = cos x", "dx = -g * sin x"});
  AddUnary<OA_EW_RECIPROCAL, OA_EW_RECIPROCAL_BWD, Saves::kOutput>(
      rows, kFamily, {"reciprocal", "y = 1 / x", "dx = -g * y^2"});
}

// ---- equal, greater_equal ----

// I32 compares exactly. A value that is an int is compared by its bits; no int equals the others.
absl::Status LowerEqualI32(LowerContext& ctx) {
  const float value = EwScalar(ctx.attributes());
  const bool is_int = value >= -0x1p31f && value < 0x1p31f && value == std::floor(value);
  EwInput input = ctx.Ew(0);
  uint8_t opcode = OA_EW_EQUAL;
  float scalar = 0.5f;  // ints become floats without a fraction: never equal
  if (is_int) {
    input.type = OA_EW_TYPE_RAW;
    opcode = OA_EW_EQUAL_BITS;
    scalar = std::bit_cast<float>(static_cast<int32_t>(value));
  }
  EwBuilder b(ctx.output_count_of());
  b.Output(b.Op(opcode, b.Input(std::move(input)), scalar), ctx.out());
  return ctx.Emit(b.Build());
}

absl::Status LowerEqual(LowerContext& ctx) {
  return ctx.input_dtype(0) == DType::I32 ? LowerEqualI32(ctx) : LowerUnary<OA_EW_EQUAL>(ctx);
}

void AddComparisonRows(std::vector<OpDef>& rows) {
  OpDef row = UnaryRow(kFamily, {"greater_equal", "y = x >= value ? 1 : 0", "", "value"});
  row.operands[0].differentiable = false;
  row.results[0].differentiable = false;
  row.lower = LowerUnary<OA_EW_GREATER_EQUAL>;
  rows.push_back(row);
  row.name = "equal";
  row.equation = "y = x == value ? 1 : 0";
  row.operands[0].dtypes = Only(DType::F32) | Only(DType::I32);
  row.notes = "i32 is compared exactly.";
  row.lower = LowerEqual;
  rows.push_back(row);
}

// ---- accumulate ----

absl::Status InferAccumulate(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(1, 0));
  ctx.AddInPlace(0);
  return absl::OkStatus();
}

void AddAccumulateRow(std::vector<OpDef>& rows) {
  OpDef row = MakeRow({"accumulate", kFamily.name, "dst += src", "dst [..], src [..]"},
                      {MutatedOperand("dst"), DetachedOperand("src")}, {DetachedResult("dst")});
  row.allow_empty = true;
  row.infer = InferAccumulate;
  row.rejects = "dst and src of different shapes";
  row.lower = LowerBinary<OA_EW_ADD>;
  row.kernels = {kElementwise};
  rows.push_back(std::move(row));
}

}  // namespace

std::vector<OpDef> ElementwiseOps() {
  std::vector<OpDef> rows;
  AddBinaryRows(rows);
  AddScalarRows(rows);
  AddUnaryRows(rows);
  AddComparisonRows(rows);
  AddAccumulateRow(rows);
  return rows;
}

}  // namespace oa::ir
