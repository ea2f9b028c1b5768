#include "ir/ops/recurrent_lowering.h"

#include <algorithm>
#include <utility>

#include "ir/ops/loop_budget.h"
#include "ir/ops/matmul.h"
#include "ir/ops/shape_rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// A scan of more steps never gets dispatches of its own for each.
constexpr uint64_t kMaxSeparateSteps = 8192;
constexpr uint64_t kDefaultComputeUnits = 128;
// Rows of the weight a lane of the scan kernels adds in one iteration.
constexpr uint64_t kUnroll = 8;

bool Present(const BufferSlice& slice) { return slice.size_bytes != 0; }

uint64_t Terms(const Recurrence& r) { return r.hidden * r.width(); }

uint64_t Flops(const Recurrence& r, uint64_t steps) { return 2 * r.batch * steps * Terms(r); }

// Whether each step is worth dispatches of its own. On a GPU a workgroup reads the weight at the
// bandwidth of one multiprocessor, a few of them at once; on a CPU device products are several
// times faster than a vector times a matrix. Both bounds are where the two forms took equally long.
bool SeparateSteps(const LowerContext& ctx, const Recurrence& r) {
  constexpr uint64_t kGroupsOfUnit = 4;
  if (r.steps > kMaxSeparateSteps) return false;
  if (ctx.profile().is_cpu) return r.batch * Terms(r) >= 1u << 16;
  const uint64_t units = ctx.profile().compute_units;
  const uint64_t groups = kGroupsOfUnit * (units != 0 ? units : kDefaultComputeUnits);
  return CeilDiv(r.batch, groups) * Terms(r) >= 1u << 18;
}

// ---- Pieces ----

BufferSlice State(LowerContext& ctx, const Recurrence& r, const char* name) {
  return ctx.Scratch(name, DType::F32, {r.batch, r.hidden});
}

// projection[row] = weight_hh @ states[row] + bias, for `rows` states.
absl::Status EmitProjection(LowerContext& ctx, const Recurrence& r, BufferSlice states,
                            uint64_t rows, BufferSlice projection) {
  Product product;
  product.a = MatrixView::Dense(states, r.hidden);
  product.b = MatrixView::Transposed(r.weight, r.hidden);
  product.m = rows;
  product.n = r.width();
  product.k = r.hidden;
  product.bias = r.bias;
  product.out = projection;
  return EmitProduct(ctx, product);
}

// out = dp @ weight_hh, of one step.
absl::Status EmitSendBack(LowerContext& ctx, const Recurrence& r, BufferSlice dp, BufferSlice out) {
  Product product;
  product.a = MatrixView::Dense(dp, r.width());
  product.b = MatrixView::Dense(r.weight, r.hidden);
  product.m = r.batch;
  product.n = r.hidden;
  product.k = r.width();
  product.out = out;
  return EmitProduct(ctx, product);
}

absl::Status EmitSum(LowerContext& ctx, BufferSlice a, BufferSlice b, uint64_t count,
                     BufferSlice out) {
  EwBuilder builder(count);
  const EwBuilder::Reg left = builder.Input({.slice = a, .count = count});
  const EwBuilder::Reg right = builder.Input({.slice = b, .count = count});
  builder.Output(builder.Op2(OA_EW_ADD, left, right), out);
  return ctx.Emit(builder.Build());
}

// dweight = dp^T @ before, dbias = sum of dp, over all steps.
absl::Status EmitParameters(LowerContext& ctx, const Recurrence& r, BufferSlice dp,
                            BufferSlice before, const RecurrenceGradients& d) {
  const uint64_t rows = r.batch * r.steps;
  if (Present(d.weight)) {
    Product product;
    product.a = MatrixView::Transposed(dp, r.width());
    product.b = MatrixView::Dense(before, r.hidden);
    product.m = r.width();
    product.n = r.hidden;
    product.k = rows;
    product.out = d.weight;
    OA_RETURN_IF_ERROR(EmitProduct(ctx, product));
  }
  if (!Present(d.bias)) return absl::OkStatus();
  return EmitColumnSum(ctx, dp, rows, r.width(), d.bias);
}

// weight_hh transposed, [hidden, width].
absl::StatusOr<BufferSlice> EmitTransposedWeight(LowerContext& ctx, const Recurrence& r) {
  constexpr uint64_t kTile = 32;
  const bool tiled = !ctx.profile().is_cpu;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(tiled ? "transpose_tiled_u32" : "transpose_u32"));
  const BufferSlice out = ctx.Scratch("weight", DType::F32, {r.hidden, r.width()});
  KernelCall call(kernel);
  call.Buffer(r.weight).Buffer(out).U32(1).U32(r.width()).U32(1).U32(r.hidden);
  if (tiled) {
    call.Grid(ctx.RowGroups(CeilDiv(r.width(), kTile) * CeilDiv(r.hidden, kTile)));
  } else {
    call.U32(1).Grid(ctx.StridedGroups(*kernel, Terms(r)));
  }
  OA_RETURN_IF_ERROR(ctx.Emit(std::move(call)));
  return out;
}

// The state before each step: states one step later, 0 at first.
absl::StatusOr<BufferSlice> EmitBefore(LowerContext& ctx, const Recurrence& r) {
  const BufferSlice before = ctx.Scratch("before", DType::F32, {r.batch, r.steps, r.hidden});
  const BufferSlice zeros = ctx.Scratch("zeros", DType::F32, {r.hidden});
  OA_ASSIGN_OR_RETURN(const Kernel* fill, ctx.Select("fill_f32"));
  OA_RETURN_IF_ERROR(ctx.Emit(KernelCall(fill).Buffer(zeros).U32(r.hidden).F32(0).Grid(
      ctx.StridedGroups(*fill, r.hidden))));
  const uint64_t stride = r.steps * r.hidden;
  std::vector<RowCopy> copies = {{zeros, 0, 0, 0, r.hidden}};
  if (r.steps > 1) copies.push_back({r.states, stride, 0, r.hidden, stride - r.hidden});
  OA_RETURN_IF_ERROR(EmitCopyRows(ctx, before, r.batch, stride, copies));
  return before;
}

// ---- One step ----

// kernels/recurrent/gates.comp; empty slices are what the step does without.
struct GatesCall {
  uint64_t step = 0;
  BufferSlice projection, state, next;
};

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

// kernels/recurrent/gates_backward.comp; empty slices are what the step does without.
struct GatesBackwardCall {
  uint64_t step = 0;
  BufferSlice g, carry, direct, projection, before;
  BufferSlice di, dp, dp_step;
};

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

// Whether the rows of all operands can be read as vectors, see kernels/recurrent/step.glsl.
bool Quads(const Recurrence& r) { return r.hidden % 4 == 0; }

uint64_t StepTiles(const Kernel& kernel, const Recurrence& r) {
  return CeilDiv(r.batch, kernel.tile[0]) * CeilDiv(r.hidden, kernel.tile[1]);
}

// One step with its product, kernels/recurrent/step.comp.
absl::Status EmitStep(LowerContext& ctx, const Recurrence& r, BufferSlice weight, uint64_t step) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_step_f32"));
  const bool first = step == 0;
  KernelCall call(kernel);
  call.Buffer(r.gates_i).Buffer(first ? BufferSlice() : weight).Buffer(r.bias);
  call.Buffer(first ? BufferSlice() : r.states).Buffer(r.states);
  call.U32(r.batch).U32(r.steps).U32(r.hidden).U32(step);
  call.Constant("gru", r.gru)
      .Constant("quads", Quads(r))
      .Constant("has_bias", Present(r.bias))
      .Constant("has_before", !first);
  call.Flops(first ? 0 : Flops(r, 1)).Grid(ctx.RowGroups(StepTiles(*kernel, r)));
  return ctx.Emit(std::move(call));
}

// kernels/recurrent/step_backward.comp.
absl::Status EmitStepBackward(LowerContext& ctx, const Recurrence& r,
                              const GatesBackwardCall& gates) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_step_backward_f32"));
  const bool last = gates.step + 1 == r.steps;
  const BufferSlice none;
  KernelCall call(kernel);
  call.Buffer(gates.g).Buffer(r.states).Buffer(r.gates_i).Buffer(gates.projection);
  call.Buffer(last ? none : r.weight).Buffer(last ? none : gates.dp);
  call.Buffer(last ? none : gates.direct).Buffer(gates.direct);
  call.Buffer(gates.di).Buffer(gates.dp);
  call.U32(r.batch).U32(r.steps).U32(r.hidden).U32(gates.step);
  call.Constant("gru", r.gru)
      .Constant("quads", Quads(r))
      .Constant("has_carry", !last)
      .Constant("want_di", Present(gates.di));
  call.Flops(last ? 0 : Flops(r, 1)).Grid(ctx.RowGroups(StepTiles(*kernel, r)));
  return ctx.Emit(std::move(call));
}

// ---- Scans ----

absl::Status EmitStepKernels(LowerContext& ctx, const Recurrence& r) {
  OA_ASSIGN_OR_RETURN(const BufferSlice weight, EmitTransposedWeight(ctx, r));
  for (uint64_t step = 0; step < r.steps; ++step) {
    OA_RETURN_IF_ERROR(EmitStep(ctx, r, weight, step));
  }
  return absl::OkStatus();
}

absl::Status EmitStepKernelsBackward(LowerContext& ctx, const Recurrence& r,
                                     GatesBackwardCall gates) {
  if (r.gru) gates.direct = State(ctx, r, "direct");
  for (gates.step = r.steps; gates.step-- > 0;) {
    OA_RETURN_IF_ERROR(EmitStepBackward(ctx, r, gates));
  }
  return absl::OkStatus();
}

absl::Status EmitSeparateSteps(LowerContext& ctx, const Recurrence& r) {
  const BufferSlice state = State(ctx, r, "state");
  const BufferSlice projection = ctx.Scratch("projection", DType::F32, {r.batch, r.width()});
  GatesCall gates;
  for (gates.step = 0; gates.step < r.steps; ++gates.step) {
    if (gates.step > 0) {
      OA_RETURN_IF_ERROR(EmitProjection(ctx, r, state, r.batch, projection));
      gates.projection = projection;
      if (r.gru) gates.state = state;
    }
    gates.next = gates.step + 1 < r.steps ? state : BufferSlice();
    OA_RETURN_IF_ERROR(EmitGates(ctx, r, gates));
  }
  return absl::OkStatus();
}

absl::Status EmitSeparateStepsBackward(LowerContext& ctx, const Recurrence& r,
                                       GatesBackwardCall gates) {
  if (r.gru) gates.direct = State(ctx, r, "direct");
  const BufferSlice carry = State(ctx, r, "carry");
  const BufferSlice dp_step = ctx.Scratch("dp_step", DType::F32, {r.batch, r.width()});
  for (uint64_t step = r.steps; step-- > 0;) {
    gates.step = step;
    gates.dp_step = step > 0 ? dp_step : BufferSlice();
    OA_RETURN_IF_ERROR(EmitGatesBackward(ctx, r, gates));
    if (step == 0) break;
    OA_RETURN_IF_ERROR(EmitSendBack(ctx, r, dp_step, carry));
    gates.carry = carry;
  }
  return absl::OkStatus();
}

// How a scan kernel divides its work.
struct ScanShare {
  uint64_t steps = 1;  // of one dispatch
  uint64_t groups = 1;
};

// `rows` is how many rows of the weight a lane adds for each of its columns.
absl::StatusOr<ScanShare> ShareScan(const LowerContext& ctx, const Kernel& kernel,
                                    const Recurrence& r, uint64_t rows) {
  const uint64_t lanes = kernel.local_size[0];
  const uint64_t columns = CeilDiv(r.hidden, lanes);
  // A turn over the rows for every column of a lane, and what is done for a column after it.
  const uint64_t iterations = columns * (rows / kUnroll + kUnroll + 7) + 3 * lanes + 4;
  // On GPUs a dispatch should not run for seconds; a step takes a microsecond or more.
  const uint64_t limit = ctx.profile().is_cpu
                             ? 40000 / iterations
                             : (uint64_t{1} << 30) / std::max<uint64_t>(Terms(r), 1u << 15);
  ScanShare share;
  share.steps = std::clamp<uint64_t>(limit, 1, r.steps);
  OA_ASSIGN_OR_RETURN(share.groups, GroupsInLoopBudget(ctx, ctx.RowGroups(r.batch), r.batch,
                                                       share.steps * iterations + 2 * columns + 2));
  return share;
}

absl::Status EmitScanKernel(LowerContext& ctx, const Recurrence& r) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_scan_f32"));
  OA_ASSIGN_OR_RETURN(const BufferSlice weight, EmitTransposedWeight(ctx, r));
  OA_ASSIGN_OR_RETURN(const ScanShare share, ShareScan(ctx, *kernel, r, r.hidden));
  for (uint64_t begin = 0; begin < r.steps; begin += share.steps) {
    const uint64_t end = std::min(begin + share.steps, r.steps);
    KernelCall call(kernel);
    call.Buffer(r.gates_i).Buffer(weight).Buffer(r.bias);
    call.Buffer(begin > 0 ? r.states : BufferSlice()).Buffer(r.states);
    call.U32(r.batch).U32(r.steps).U32(r.hidden).U32(begin).U32(end);
    call.Constant("gru", r.gru)
        .Constant("quads", Quads(r))
        .Constant("has_bias", Present(r.bias))
        .Constant("has_before", begin > 0);
    call.Flops(Flops(r, end - begin)).Grid(share.groups);
    OA_RETURN_IF_ERROR(ctx.Emit(std::move(call)));
  }
  return absl::OkStatus();
}

absl::Status EmitScanKernelBackward(LowerContext& ctx, const Recurrence& r,
                                    const GatesBackwardCall& gates) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_scan_backward_f32"));
  OA_ASSIGN_OR_RETURN(const ScanShare share, ShareScan(ctx, *kernel, r, r.width()));
  const BufferSlice carry = State(ctx, r, "carry");
  for (uint64_t end = r.steps; end > 0;) {
    const uint64_t begin = end - std::min(share.steps, end);
    KernelCall call(kernel);
    call.Buffer(gates.g).Buffer(r.states).Buffer(r.gates_i).Buffer(gates.projection);
    call.Buffer(r.weight).Buffer(end < r.steps ? carry : BufferSlice());
    call.Buffer(begin > 0 ? carry : BufferSlice()).Buffer(gates.di).Buffer(gates.dp);
    call.U32(r.batch).U32(r.steps).U32(r.hidden).U32(begin).U32(end);
    call.Constant("gru", r.gru)
        .Constant("quads", Quads(r))
        .Constant("has_carry", end < r.steps)
        .Constant("want_carry", begin > 0)
        .Constant("want_di", Present(gates.di));
    call.Flops(Flops(r, end - begin)).Grid(share.groups);
    OA_RETURN_IF_ERROR(ctx.Emit(std::move(call)));
    end = begin;
  }
  return absl::OkStatus();
}

absl::Status EmitAllStepsBackward(LowerContext& ctx, const Recurrence& r,
                                  const GatesBackwardCall& gates) {
  if (!SeparateSteps(ctx, r)) return EmitScanKernelBackward(ctx, r, gates);
  return ctx.profile().is_cpu ? EmitSeparateStepsBackward(ctx, r, gates)
                              : EmitStepKernelsBackward(ctx, r, gates);
}

// The RNN's gradient of the projection is that of the gates: one buffer serves both.
GatesBackwardCall PlanGradients(LowerContext& ctx, const Recurrence& r,
                                const RecurrenceGradients& d) {
  GatesBackwardCall gates = {.g = d.g};
  if (r.gru) gates.di = d.gates_i;
  gates.dp = !r.gru && Present(d.gates_i)
                 ? d.gates_i
                 : ctx.Scratch("dp", DType::F32, {r.batch, r.steps, r.width()});
  return gates;
}

// The GRU's adjoint needs the projections of all steps, which are one product.
absl::Status ProjectAgain(LowerContext& ctx, const Recurrence& r, GatesBackwardCall& gates) {
  if (!r.gru) return absl::OkStatus();
  gates.projection = ctx.Scratch("projection", DType::F32, {r.batch, r.steps, r.width()});
  return EmitProjection(ctx, r, gates.before, r.batch * r.steps, gates.projection);
}

}  // namespace

absl::Status EmitCell(LowerContext& ctx, const Recurrence& r) {
  const GatesCall gates = {
      .projection = ctx.Scratch("projection", DType::F32, {r.batch, r.width()}),
      .state = r.gru ? r.initial : BufferSlice()};
  OA_RETURN_IF_ERROR(EmitProjection(ctx, r, r.initial, r.batch, gates.projection));
  return EmitGates(ctx, r, gates);
}

absl::Status EmitScan(LowerContext& ctx, const Recurrence& r) {
  if (!SeparateSteps(ctx, r)) return EmitScanKernel(ctx, r);
  return ctx.profile().is_cpu ? EmitSeparateSteps(ctx, r) : EmitStepKernels(ctx, r);
}

absl::Status EmitCellBackward(LowerContext& ctx, const Recurrence& r,
                              const RecurrenceGradients& d) {
  GatesBackwardCall gates = PlanGradients(ctx, r, d);
  gates.before = r.initial;
  OA_RETURN_IF_ERROR(ProjectAgain(ctx, r, gates));
  if (r.gru) gates.direct = State(ctx, r, "direct");
  OA_RETURN_IF_ERROR(EmitGatesBackward(ctx, r, gates));
  if (Present(d.initial)) {
    const BufferSlice sent = r.gru ? State(ctx, r, "sent_back") : d.initial;
    OA_RETURN_IF_ERROR(EmitSendBack(ctx, r, gates.dp, sent));
    if (r.gru) {
      OA_RETURN_IF_ERROR(EmitSum(ctx, gates.direct, sent, r.batch * r.hidden, d.initial));
    }
  }
  return EmitParameters(ctx, r, gates.dp, r.initial, d);
}

absl::Status EmitScanBackward(LowerContext& ctx, const Recurrence& r,
                              const RecurrenceGradients& d) {
  GatesBackwardCall gates = PlanGradients(ctx, r, d);
  if (r.gru || Present(d.weight)) {
    OA_ASSIGN_OR_RETURN(gates.before, EmitBefore(ctx, r));
  }
  OA_RETURN_IF_ERROR(ProjectAgain(ctx, r, gates));
  OA_RETURN_IF_ERROR(EmitAllStepsBackward(ctx, r, gates));
  return EmitParameters(ctx, r, gates.dp, gates.before, d);
}

}  // namespace oa::ir
