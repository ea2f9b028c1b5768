// Activations: nine unary functions, swiglu and silu_mul (the two halves of one row).
#include "ir/ops/elementwise_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"

namespace oa::ir {
namespace {

constexpr UnaryFamily kFamily = {"activation", "input"};

void AddUnaryRows(std::vector<OpDef>& rows) {
  AddUnary<OA_EW_RELU, OA_EW_RELU_BWD, Saves::kOutput>(
      rows, kFamily, {"relu", "y = x > 0 ? x : 0", "dx = y > 0 ? g : 0"});
  AddUnary<OA_EW_LEAKY_RELU, OA_EW_LEAKY_RELU_BWD, Saves::kInput>(
      rows, kFamily,
      {"leaky_relu", "y = x > 0 ? x : alpha * x", "dx = x > 0 ? g : alpha * g", "alpha"});
  AddUnary<OA_EW_ELU, OA_EW_ELU_BWD, Saves::kInput>(
      rows, kFamily,
      {"elu", "y = x > 0 ? x : alpha * (e^x - 1)", "dx = x > 0 ? g : g * alpha * e^x", "alpha"});
  AddUnary<OA_EW_GELU, OA_EW_GELU_BWD, Saves::kInput>(
      rows, kFamily,
      {"gelu", "y = 0.5 * x * (1 + t), t = tanh(sqrt(2/pi) * (x + 0.044715 * x^3))",
       "dx = g * (0.5 * (1 + t) + 0.5 * x * (1 - t^2) * sqrt(2/pi) * (1 + 0.134145 * x^2))"});
  AddUnary<OA_EW_MISH, OA_EW_MISH_BWD, Saves::kInput>(
      rows, kFamily,
      {"mish", "y = x * tanh(softplus(x))",
       "dx = g * (t + x * sigmoid(x) * (1 - t^2)), t = tanh(softplus(x))"});
  AddUnary<OA_EW_SIGMOID, OA_EW_SIGMOID_BWD, Saves::kOutput>(
      rows, kFamily, {"sigmoid", "y = 1 / (1 + e^-x)", "dx = g * y * (1 - y)"});
  AddUnary<OA_EW_SILU, OA_EW_SILU_BWD, Saves::kInput>(
      rows, kFamily,
      {"silu", "y = x * sigmoid(x)", "dx = g * s * (1 + x * (1 - s)), s = sigmoid(x)"});
  AddUnary<OA_EW_SOFTPLUS, OA_EW_SOFTPLUS_BWD, Saves::kInput>(
      rows, kFamily, {"softplus", "y = max(x, 0) + ln(1 + e^-|x|)", "dx = g * sigmoid(x)"});
  AddUnary<OA_EW_TANH, OA_EW_TANH_BWD, Saves::kOutput>(
      rows, kFamily, {"tanh", "y = tanh(x)", "dx = g * (1 - y^2)"});
}

// ---- swiglu ----

absl::Status LowerSwiglu(LowerContext& ctx) {
  EwBuilder b(ctx.output_count_of());
  const EwBuilder::Reg gate = b.Input(ctx.Ew(0));
  const EwBuilder::Reg up = b.Input(ctx.Ew(1));
  b.Output(b.Op2(OA_EW_MUL, b.Op(OA_EW_SILU, gate), up), ctx.out());
  return ctx.Emit(b.Build());
}

absl::Status AdjointSwiglu(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1)});
}

absl::Status InferSwigluBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(InferSameShape(ctx));
  return ctx.AddResult(DType::F32, ctx.shape(0));
}

absl::Status LowerSwigluBackward(LowerContext& ctx) {
  EwBuilder b(ctx.input_count_of(0));
  const EwBuilder::Reg g = b.Input(ctx.Ew(0));
  const EwBuilder::Reg gate = b.Input(ctx.Ew(1));
  if (ctx.has_output(0)) {
    const EwBuilder::Reg up = b.Input(ctx.Ew(2));
    b.Output(b.Op2(OA_EW_SILU_BWD, gate, b.Op2(OA_EW_MUL, g, up)), ctx.out(0));
  }
  if (ctx.has_output(1)) {
    b.Output(b.Op2(OA_EW_MUL, b.Op(OA_EW_SILU, gate), g), ctx.out(1));
  }
  return ctx.Emit(b.Build());
}

void AddSwigluRows(std::vector<OpDef>& rows) {
  OpDef row = MakeRow({"swiglu", kFamily.name, "y = silu(gate) * up", "gate [..], up [..], y [..]"},
                      {Operand("gate"), Operand("up")}, {{.name = "y"}});
  row.allow_empty = true;
  row.infer = InferSameShape;
  row.rejects = "gate and up of different shapes";
  row.adjoint = AdjointSwiglu;
  row.lower = LowerSwiglu;
  row.kernels = {kElementwise};
  rows.push_back(row);

  row = BackwardRow(row,
                    {"dgate = g * up * silu'(gate), dup = g * silu(gate)",
                     "g [..], gate [..], up [..], dgate [..], dup [..]"},
                    {Operand("g"), Operand("gate"), Operand("up")},
                    OptionalResults({"dgate", "dup"}));
  row.infer = InferSwigluBackward;
  row.lower = LowerSwigluBackward;
  row.kernels = {kElementwise};
  rows.push_back(row);
}

// ---- silu_mul ----

// Shape of one half of operand `i`, [.., n] for [.., 2n].
absl::StatusOr<Shape> HalfRows(const InferContext& ctx, int i) {
  const int64_t n = ctx.attributes().i64("intermediate_size");
  Shape half = ctx.shape(i);
  if (n <= 0) return ctx.Fail("attribute 'intermediate_size' is ", n, ", must be positive");
  if (half.back() % 2 != 0 || half.back() / 2 != static_cast<uint64_t>(n)) {
    return ctx.Fail("operand 'input' ", ShapeText(half), " must have 2 * intermediate_size = 2 * ",
                    n, " columns");
  }
  half.back() /= 2;
  return half;
}

absl::Status InferSiluMul(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape half, HalfRows(ctx, 0));
  return ctx.AddResult(DType::F32, half);
}

absl::Status InferSiluMulBackward(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape half, HalfRows(ctx, 1));
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, half));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

absl::Status AdjointSiluMul(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0)});
}

// Both kernels take their buffers, then rows and n, and work on single values or on four at a time.
absl::Status EmitSiluMul(LowerContext& ctx, std::string kernel, uint64_t half_count,
                         absl::Span<const BufferSlice> buffers) {
  if (half_count == 0) return absl::OkStatus();
  uint64_t n = static_cast<uint64_t>(ctx.attributes().i64("intermediate_size"));
  const uint64_t rows = half_count / n;
  if (n % 4 == 0) {
    kernel += "_v4";
    n /= 4;
  }
  OA_ASSIGN_OR_RETURN(const Kernel* selected, ctx.Select(kernel));
  KernelCall call(selected);
  for (const BufferSlice& buffer : buffers) call.Buffer(buffer);
  call.U32(rows).U32(n).Flops(8 * half_count).Grid(ctx.StridedGroups(*selected, rows * n));
  return ctx.Emit(std::move(call));
}

absl::Status LowerSiluMul(LowerContext& ctx) {
  return EmitSiluMul(ctx, "silu_mul_f32", ctx.output_count_of(), {ctx.in(0), ctx.out()});
}

absl::Status LowerSiluMulBackward(LowerContext& ctx) {
  return EmitSiluMul(ctx, "silu_mul_backward_f32", ctx.input_count_of(0),
                     {ctx.in(0), ctx.in(1), ctx.out()});
}

void AddSiluMulRows(std::vector<OpDef>& rows) {
  OpDef row = MakeRow(
      {"silu_mul", kFamily.name, "y[r, j] = silu(x[r, j]) * x[r, n + j], n = intermediate_size",
       "input [.., 2n], y [.., n]"},
      {Operand("input")}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("intermediate_size")};
  row.allow_empty = true;
  row.infer = InferSiluMul;
  row.rejects = "intermediate_size below 1; a last extent that is not 2 * intermediate_size";
  row.adjoint = AdjointSiluMul;
  row.lower = LowerSiluMul;
  row.kernels = {"silu_mul_f32", "silu_mul_f32_v4"};
  rows.push_back(row);

  row = BackwardRow(row,
                    {"dx[r, j] = g[r, j] * x[r, n + j] * silu'(x[r, j]), dx[r, n + j] = g[r, j] * "
                     "silu(x[r, j])",
                     "g [.., n], input [.., 2n], dx [.., 2n]"},
                    {Operand("g"), Operand("input")}, {{.name = "dx"}});
  row.infer = InferSiluMulBackward;
  row.lower = LowerSiluMulBackward;
  row.kernels = {"silu_mul_backward_f32", "silu_mul_backward_f32_v4"};
  rows.push_back(row);
}

}  // namespace

std::vector<OpDef> ActivationOps() {
  std::vector<OpDef> rows;
  AddUnaryRows(rows);
  AddSwigluRows(rows);
  AddSiluMulRows(rows);
  return rows;
}

}  // namespace oa::ir
