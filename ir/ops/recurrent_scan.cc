// Scans of the recurrent family: three routes forwards and backwards.
#include <algorithm>
#include <utility>

#include "ir/ops/matmul.h"
#include "ir/ops/recurrent_lowering.h"
#include "ir/ops/shape_rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Rows of the weight a lane of the scan kernels adds in one iteration.
constexpr uint64_t kUnroll = 8;

uint64_t Flops(const Recurrence& r, uint64_t steps) { return 2 * r.batch * steps * r.weights(); }

enum class Route { kScan, kSteps, kProducts };

// Dispatches for each step pay where the weight is large. On a GPU a workgroup reads it at the
// bandwidth of one multiprocessor, a few of them at once; on a CPU device products are several
// times faster than a vector times a matrix. Both bounds are where two routes took equally long.
Route ChooseRoute(const LowerContext& ctx, const Recurrence& r) {
  constexpr uint64_t kMaxDispatchedSteps = 8192, kGroupsOfUnit = 4;
  if (ctx.route() == "scan") return Route::kScan;
  if (ctx.route() == "steps") return Route::kSteps;
  if (ctx.route() == "products") return Route::kProducts;
  if (r.steps > kMaxDispatchedSteps) return Route::kScan;
  if (ctx.profile().is_cpu) {
    return r.batch * r.weights() >= 1u << 16 ? Route::kProducts : Route::kScan;
  }
  const uint64_t groups = kGroupsOfUnit * ComputeUnits(ctx);
  return CeilDiv(r.batch, groups) * r.weights() >= 1u << 18 ? Route::kSteps : Route::kScan;
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
    const uint64_t tiles = CeilDiv(r.width(), kTile) * CeilDiv(r.hidden, kTile);
    OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(tiles, 2 * kTile));
    call.Grid(groups);
  } else {
    call.U32(1).Grid(ctx.StridedGroups(*kernel, r.weights()));
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

// Whether the rows of all operands can be read as vectors, see kernels/recurrent/step.glsl.
bool Quads(const Recurrence& r) { return r.hidden % 4 == 0; }

// Workgroups of a kernel that owns tiles of a step, `terms` to each sum.
absl::StatusOr<uint64_t> StepGroups(const LowerContext& ctx, const Kernel& kernel,
                                    const Recurrence& r, uint64_t terms) {
  constexpr uint64_t kTermsAtOnce = 32, kAround = 16;
  return ctx.RowGroups(CeilDiv(r.batch, kernel.tile[0]) * CeilDiv(r.hidden, kernel.tile[1]),
                       terms / kTermsAtOnce + kAround);
}

// One step with its product, kernels/recurrent/step.comp.
absl::Status EmitStep(LowerContext& ctx, const Recurrence& r, BufferSlice weight, uint64_t step) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_step_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups, StepGroups(ctx, *kernel, r, r.hidden));
  const bool first = step == 0;
  KernelCall call(kernel);
  call.Buffer(r.gates_i).Buffer(first ? BufferSlice() : weight).Buffer(r.bias);
  call.Buffer(first ? BufferSlice() : r.states).Buffer(r.states);
  call.U32(r.batch).U32(r.steps).U32(r.hidden).U32(step);
  call.Constant("gru", r.gru)
      .Constant("quads", Quads(r))
      .Constant("has_bias", Present(r.bias))
      .Constant("has_before", !first);
  call.Flops(first ? 0 : Flops(r, 1)).Grid(groups);
  return ctx.Emit(std::move(call));
}

// kernels/recurrent/step_backward.comp.
absl::Status EmitStepBackward(LowerContext& ctx, const Recurrence& r,
                              const GatesBackwardCall& gates) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("recurrent_step_backward_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups, StepGroups(ctx, *kernel, r, r.width()));
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
  call.Flops(last ? 0 : Flops(r, 1)).Grid(groups);
  return ctx.Emit(std::move(call));
}

absl::Status EmitSteps(LowerContext& ctx, const Recurrence& r) {
  OA_ASSIGN_OR_RETURN(const BufferSlice weight, EmitTransposedWeight(ctx, r));
  for (uint64_t step = 0; step < r.steps; ++step) {
    OA_RETURN_IF_ERROR(EmitStep(ctx, r, weight, step));
  }
  return absl::OkStatus();
}

absl::Status EmitStepsBackward(LowerContext& ctx, const Recurrence& r, GatesBackwardCall gates) {
  for (gates.step = r.steps; gates.step-- > 0;) {
    OA_RETURN_IF_ERROR(EmitStepBackward(ctx, r, gates));
  }
  return absl::OkStatus();
}

absl::Status EmitProducts(LowerContext& ctx, const Recurrence& r) {
  const BufferSlice state = StateScratch(ctx, r, "state");
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

absl::Status EmitProductsBackward(LowerContext& ctx, const Recurrence& r, GatesBackwardCall gates) {
  const BufferSlice carry = StateScratch(ctx, r, "carry");
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
                             : (uint64_t{1} << 30) / std::max<uint64_t>(r.weights(), 1u << 15);
  ScanShare share;
  share.steps = std::clamp<uint64_t>(limit, 1, r.steps);
  OA_ASSIGN_OR_RETURN(share.groups,
                      ctx.RowGroups(r.batch, share.steps * iterations + 2 * columns + 2));
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
  const BufferSlice carry = StateScratch(ctx, r, "carry");
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

}  // namespace

std::vector<std::string> ScanRoutes() { return {"scan", "steps", "products"}; }

std::vector<std::string> ScanKernels() {
  std::vector<std::string> kernels = CellKernels();
  kernels.insert(kernels.end(), {"recurrent_scan_f32", "recurrent_step_f32", "transpose_tiled_u32",
                                 "transpose_u32"});
  return kernels;
}

std::vector<std::string> ScanBackwardKernels() {
  std::vector<std::string> kernels = CellBackwardKernels();
  kernels.insert(kernels.end(), {"recurrent_scan_backward_f32", "recurrent_step_backward_f32",
                                 "fill_f32", "copy_rows_u32", "copy_rows_u32x4"});
  return kernels;
}

absl::Status EmitScan(LowerContext& ctx, const Recurrence& r) {
  switch (ChooseRoute(ctx, r)) {
    case Route::kScan:
      return EmitScanKernel(ctx, r);
    case Route::kSteps:
      return EmitSteps(ctx, r);
    case Route::kProducts:
      return EmitProducts(ctx, r);
  }
  return absl::OkStatus();
}

absl::Status EmitScanBackward(LowerContext& ctx, const Recurrence& r,
                              const RecurrenceGradients& d) {
  BufferSlice before;
  if (r.gru || Present(d.weight)) {
    OA_ASSIGN_OR_RETURN(before, EmitBefore(ctx, r));
  }
  OA_ASSIGN_OR_RETURN(const GatesBackwardCall gates, BeginBackward(ctx, r, d, before));
  switch (ChooseRoute(ctx, r)) {
    case Route::kScan:
      OA_RETURN_IF_ERROR(EmitScanKernelBackward(ctx, r, gates));
      break;
    case Route::kSteps:
      OA_RETURN_IF_ERROR(EmitStepsBackward(ctx, r, gates));
      break;
    case Route::kProducts:
      OA_RETURN_IF_ERROR(EmitProductsBackward(ctx, r, gates));
      break;
  }
  return EmitParameters(ctx, r, gates.dp, before, d);
}

}  // namespace oa::ir
