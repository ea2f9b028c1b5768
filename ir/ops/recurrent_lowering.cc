#include "ir/ops/recurrent_lowering.h"

#include <algorithm>
#include <utility>

#include "ir/ops/matmul.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// CPU devices cannot sum more terms in one go (kLoopBudget); a multiple of 4, so that parts start
// at multiples of 16 bytes.
constexpr uint64_t kMaxTerms = 1 << 18;

std::vector<std::string> WithProducts(std::vector<std::string> kernels) {
  for (std::string& kernel : ProductKernels()) kernels.push_back(std::move(kernel));
  return kernels;
}

absl::Status EmitSum(LowerContext& ctx, BufferSlice a, BufferSlice b, uint64_t count,
                     BufferSlice out) {
  EwBuilder builder(count);
  const EwBuilder::Reg left = builder.Input({.slice = a, .count = count});
  const EwBuilder::Reg right = builder.Input({.slice = b, .count = count});
  builder.Output(builder.Op2(OA_EW_ADD, left, right), out);
  return ctx.Emit(builder.Build());
}

// Rows [first, first + rows) of x [.., columns].
BufferSlice Rows(BufferSlice x, uint64_t first, uint64_t rows, uint64_t columns) {
  x.offset += first * columns * sizeof(float);
  x.size_bytes = rows * columns * sizeof(float);
  return x;
}

// dweight = dp^T @ before where the rows are too many for one product: in parts of kMaxTerms rows,
// which are a batch, and a rest.
absl::Status EmitLongWeightGradient(LowerContext& ctx, const Recurrence& r, BufferSlice dp,
                                    BufferSlice before, BufferSlice dweight) {
  const uint64_t rows = r.batch * r.steps, parts = rows / kMaxTerms, rest = rows % kMaxTerms;
  const BufferSlice partial = ctx.Scratch("partial", DType::F32, {parts, r.weights()});
  OA_RETURN_IF_ERROR(EmitProduct(
      ctx, DenseProduct({dp, true}, {before}, r.width(), r.hidden, kMaxTerms, partial, parts)));
  if (rest == 0) return EmitColumnSum(ctx, partial, parts, r.weights(), dweight);
  const BufferSlice sum = ctx.Scratch("sum", DType::F32, {r.weights()});
  const BufferSlice last = ctx.Scratch("rest", DType::F32, {r.weights()});
  OA_RETURN_IF_ERROR(EmitColumnSum(ctx, partial, parts, r.weights(), sum));
  const Factor dp_rest = {Rows(dp, rows - rest, rest, r.width()), true};
  const Factor before_rest = {Rows(before, rows - rest, rest, r.hidden)};
  OA_RETURN_IF_ERROR(
      EmitProduct(ctx, DenseProduct(dp_rest, before_rest, r.width(), r.hidden, rest, last)));
  return EmitSum(ctx, sum, last, r.weights(), dweight);
}

}  // namespace

std::vector<std::string> CellKernels() { return WithProducts({"recurrent_gates_f32"}); }

std::vector<std::string> CellBackwardKernels() {
  return WithProducts({"recurrent_gates_backward_f32", kElementwise});
}

BufferSlice StateScratch(LowerContext& ctx, const Recurrence& r, const char* name) {
  return ctx.Scratch(name, DType::F32, {r.batch, r.hidden});
}

absl::Status EmitProjection(LowerContext& ctx, const Recurrence& r, BufferSlice states,
                            uint64_t rows, BufferSlice projection) {
  Product product = DenseProduct({states}, {r.weight, true}, rows, r.width(), r.hidden, projection);
  product.bias = r.bias;
  return EmitProduct(ctx, product);
}

absl::Status EmitSendBack(LowerContext& ctx, const Recurrence& r, BufferSlice dp, BufferSlice out) {
  return EmitProduct(ctx, DenseProduct({dp}, {r.weight}, r.batch, r.hidden, r.width(), out));
}

absl::Status EmitParameters(LowerContext& ctx, const Recurrence& r, BufferSlice dp,
                            BufferSlice before, const RecurrenceGradients& d) {
  const uint64_t rows = r.batch * r.steps;
  if (Present(d.weight) && ctx.profile().is_cpu && rows > kMaxTerms) {
    OA_RETURN_IF_ERROR(EmitLongWeightGradient(ctx, r, dp, before, d.weight));
  } else if (Present(d.weight)) {
    OA_RETURN_IF_ERROR(
        EmitProduct(ctx, DenseProduct({dp, true}, {before}, r.width(), r.hidden, rows, d.weight)));
  }
  if (!Present(d.bias)) return absl::OkStatus();
  return EmitColumnSum(ctx, dp, rows, r.width(), d.bias);
}

absl::Status EmitGates(LowerContext& ctx, const Recurrence& r, const GatesCall& gates) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_gates_f32"));
  const bool use_bias = Present(r.bias) && !Present(gates.projection);
  KernelCall call(kernel);
  call.Buffer(r.gates_i).Buffer(gates.projection).Buffer(use_bias ? r.bias : BufferSlice());
  call.Buffer(gates.state).Buffer(gates.next).Buffer(r.states);
  call.U32(r.batch).U32(r.steps).U32(r.hidden).U32(gates.step);
  call.Constant("gru", r.gru)
      .Constant("has_projection", Present(gates.projection))
      .Constant("has_bias", use_bias)
      .Constant("has_state", Present(gates.state))
      .Constant("want_next", Present(gates.next));
  call.Flops(20 * r.batch * r.width());
  call.Grid(ctx.StridedGroups(*kernel, r.batch * r.hidden));
  return ctx.Emit(std::move(call));
}

absl::Status EmitGatesBackward(LowerContext& ctx, const Recurrence& r,
                               const GatesBackwardCall& gates) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_gates_backward_f32"));
  const bool has_carry = Present(gates.carry);
  KernelCall call(kernel);
  call.Buffer(gates.g).Buffer(gates.carry).Buffer(has_carry ? gates.direct : BufferSlice());
  call.Buffer(gates.direct).Buffer(r.gates_i).Buffer(gates.projection);
  call.Buffer(r.gru ? gates.before : BufferSlice()).Buffer(r.gru ? BufferSlice() : r.states);
  call.Buffer(gates.di).Buffer(gates.dp).Buffer(gates.dp_step);
  call.U32(r.batch).U32(r.steps).U32(r.hidden).U32(gates.step);
  call.Constant("gru", r.gru)
      .Constant("has_carry", has_carry)
      .Constant("want_di", Present(gates.di))
      .Constant("want_step", Present(gates.dp_step));
  call.Flops(25 * r.batch * r.width());
  call.Grid(ctx.StridedGroups(*kernel, r.batch * r.hidden));
  return ctx.Emit(std::move(call));
}

absl::StatusOr<GatesBackwardCall> BeginBackward(LowerContext& ctx, const Recurrence& r,
                                                const RecurrenceGradients& d, BufferSlice before) {
  GatesBackwardCall gates = {.g = d.g, .before = before};
  const Shape shape = {r.batch, r.steps, r.width()};
  if (!r.gru) {
    // The gradient of the projection is that of the gates.
    gates.dp = Present(d.gates_i) ? d.gates_i : ctx.Scratch("dp", DType::F32, shape);
    return gates;
  }
  gates.di = d.gates_i;
  gates.dp = ctx.Scratch("dp", DType::F32, shape);
  gates.projection = ctx.Scratch("projection", DType::F32, shape);
  gates.direct = StateScratch(ctx, r, "direct");
  OA_RETURN_IF_ERROR(EmitProjection(ctx, r, before, r.batch * r.steps, gates.projection));
  return gates;
}

absl::Status EmitCell(LowerContext& ctx, const Recurrence& r) {
  const GatesCall gates = {
      .projection = ctx.Scratch("projection", DType::F32, {r.batch, r.width()}),
      .state = r.gru ? r.initial : BufferSlice()};
  OA_RETURN_IF_ERROR(EmitProjection(ctx, r, r.initial, r.batch, gates.projection));
  return EmitGates(ctx, r, gates);
}

absl::Status EmitCellBackward(LowerContext& ctx, const Recurrence& r,
                              const RecurrenceGradients& d) {
  OA_ASSIGN_OR_RETURN(const GatesBackwardCall gates, BeginBackward(ctx, r, d, r.initial));
  OA_RETURN_IF_ERROR(EmitGatesBackward(ctx, r, gates));
  if (Present(d.initial)) {
    const BufferSlice sent = r.gru ? StateScratch(ctx, r, "sent_back") : d.initial;
    OA_RETURN_IF_ERROR(EmitSendBack(ctx, r, gates.dp, sent));
    if (r.gru) {
      OA_RETURN_IF_ERROR(EmitSum(ctx, gates.direct, sent, r.batch * r.hidden, d.initial));
    }
  }
  return EmitParameters(ctx, r, gates.dp, r.initial, d);
}

}  // namespace oa::ir
