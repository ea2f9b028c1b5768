// Mamba-3: the packed input projection split and transformed into the operands of the scans.
#include <cmath>

#include "ir/ops/families.h"
#include "ir/ops/mamba3.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr uint64_t kMaxU32 = 0xffffffff;
constexpr int kOutputs = 8;

struct Config {
  uint64_t inner, state, heads, angles, groups, ranks;
  float epsilon, dt_min, dt_max, a_floor;
  uint64_t bc_rows() const { return groups * ranks; }
};

Config ConfigOf(const Attributes& attributes) {
  return {attributes.u32("inner_size"), attributes.u32("state_size"),
          attributes.u32("num_heads"),  attributes.u32("num_rope_angles"),
          attributes.u32("num_groups"), attributes.u32("mimo_rank"),
          attributes.f32("epsilon"),    attributes.f32("dt_min"),
          attributes.f32("dt_max"),     attributes.f32("a_floor")};
}

// ---- Validation ----

absl::Status CheckSizes(const InferContext& ctx, const Config& c) {
  if (ctx.shape(0)[0] == 0) return ctx.Fail("projected has no rows");
  if (c.inner == 0 || c.state == 0 || c.heads == 0 || c.groups == 0 || c.ranks == 0) {
    return ctx.Fail("inner_size, state_size, num_heads, num_groups and mimo_rank must not be 0");
  }
  if (2 * c.angles > c.state) {
    return ctx.Fail("num_rope_angles is ", c.angles, ", the limit is half of state_size ", c.state);
  }
  return absl::OkStatus();
}

absl::Status CheckRates(const InferContext& ctx, const Config& c) {
  const bool finite = std::isfinite(c.epsilon) && std::isfinite(c.dt_min) &&
                      std::isfinite(c.dt_max) && std::isfinite(c.a_floor);
  if (!finite || c.epsilon <= 0 || c.dt_min <= 0 || c.a_floor <= 0) {
    return ctx.Fail("epsilon ", c.epsilon, ", dt_min ", c.dt_min, ", dt_max ", c.dt_max,
                    " and a_floor ", c.a_floor,
                    " must be finite, and all but dt_max greater than zero");
  }
  if (c.dt_min > c.dt_max) {
    return ctx.Fail("dt_min ", c.dt_min, " is greater than dt_max ", c.dt_max);
  }
  return absl::OkStatus();
}

// K, K * N and the width of a row in 64 bits; they come from 32-bit sizes.
absl::StatusOr<uint64_t> RowWidth(const InferContext& ctx, const Config& c) {
  const std::optional<uint64_t> vectors = CheckedMul(c.bc_rows(), c.state);
  if (!vectors.has_value() || *vectors > kMaxU32) {
    return ctx.Fail("num_groups * mimo_rank * state_size exceeds 2^32-1");
  }
  return 2 * c.inner + 2 * *vectors + 3 * c.heads + c.angles;
}

// Operands projected and dt_bias; returns the shapes of the eight values.
absl::StatusOr<std::vector<Shape>> Check(const InferContext& ctx) {
  const Config c = ConfigOf(ctx.attributes());
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(CheckSizes(ctx, c));
  OA_RETURN_IF_ERROR(CheckRates(ctx, c));
  OA_ASSIGN_OR_RETURN(const uint64_t width, RowWidth(ctx, c));
  const uint64_t rows = ctx.shape(0)[0];
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {rows, width}));
  OA_RETURN_IF_ERROR(ctx.RequireShape(1, {c.heads}));
  const Shape inner = {rows, c.inner}, vectors = {rows, c.bc_rows() * c.state};
  const Shape heads = {rows, c.heads};
  return std::vector<Shape>{inner, inner, vectors, vectors, heads, heads, heads, {rows, c.angles}};
}

absl::Status Infer(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, Check(ctx));
  for (const Shape& shape : shapes) OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, shape));
  return absl::OkStatus();
}

// (projected, dt_bias, eight gradients) -> (d_projected, d_dt_bias).
absl::Status InferBackward(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, Check(ctx));
  for (int i = 0; i < kOutputs; ++i) OA_RETURN_IF_ERROR(ctx.RequireShape(2 + i, shapes[i]));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(0)));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

// ---- Adjoint ----

// Gradients that nobody asked for count as zeros, and one backward call covers all eight.
absl::Status Adjoint(AdjointContext& ctx) {
  std::vector<ValueId> inputs = {ctx.input(0), ctx.input(1)};
  for (int i = 0; i < kOutputs; ++i) {
    ValueId gradient = ctx.grad(i);
    if (gradient == kAbsent) {
      const Shape& shape = ctx.shape(ctx.output(i));
      OA_ASSIGN_OR_RETURN(
          gradient,
          ctx.Emit("full", {},
                   Attributes().List("shape", {shape.begin(), shape.end()}).F32("value", 0)));
    }
    inputs.push_back(gradient);
  }
  return ctx.EmitBackward(inputs);
}

// ---- Lowering ----

void SetConfig(KernelCall& call, const Config& c, uint64_t rows) {
  call.U32(rows).U32(c.inner).U32(c.state).U32(c.heads).U32(c.angles).U32(c.bc_rows());
  call.F32(c.epsilon).F32(c.dt_min).F32(c.dt_max).F32(c.a_floor);
}

// Emits a kernel with one workgroup a row of the projection.
absl::Status EmitRows(LowerContext& ctx, KernelCall call, const Config& c, uint64_t rows) {
  const uint64_t lanes = call.kernel().local_size[0];
  const uint64_t iterations = 2 * CeilDiv(c.inner, lanes) + 2 * CeilDiv(c.heads, lanes) +
                              CeilDiv(c.angles, lanes) +
                              c.bc_rows() * (5 + 4 * CeilDiv(c.state, lanes)) + 12;
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(rows, iterations));
  return ctx.Emit(std::move(call.Grid(groups)));
}

absl::Status Lower(LowerContext& ctx) {
  const Config c = ConfigOf(ctx.attributes());
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("mamba3_preprocess_f32"));
  const uint64_t rows = ctx.input_shape(0)[0];
  KernelCall call(kernel);
  call.Buffer(ctx.in(0)).Buffer(ctx.in(1));
  for (int i = 0; i < kOutputs; ++i) call.Buffer(ctx.out(i));
  SetConfig(call, c, rows);
  return EmitRows(ctx, std::move(call), c, rows);
}

// Sums x [rows, heads] over its rows, strictly one after the other, in as many dispatches as CPU
// devices need.
absl::Status EmitOrderedSum(LowerContext& ctx, BufferSlice x, uint64_t rows, uint64_t heads,
                            BufferSlice y) {
  constexpr uint64_t kRowsOfCpu = 500000, kRowsOfGpu = uint64_t{1} << 31;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("mamba3_ordered_sum_f32"));
  const uint64_t step = ctx.profile().is_cpu ? kRowsOfCpu : kRowsOfGpu;
  BufferSlice start;
  for (uint64_t first = 0; first < rows; first += step) {
    const bool last = rows - first <= step;
    const BufferSlice sum = last ? y : ctx.Scratch("partial_sum", DType::F32, {heads});
    const uint64_t groups = CeilDiv(heads, kernel->local_size[0]);
    OA_RETURN_IF_ERROR(ctx.Emit(KernelCall(kernel)
                                    .Buffer(x)
                                    .Buffer(start)
                                    .Buffer(sum)
                                    .U32(rows)
                                    .U32(heads)
                                    .U32(first)
                                    .U32(step)
                                    .Constant("has_start", first != 0)
                                    .Grid(groups)));
    start = sum;
  }
  return absl::OkStatus();
}

absl::Status LowerBackward(LowerContext& ctx) {
  const Config c = ConfigOf(ctx.attributes());
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("mamba3_preprocess_backward_f32"));
  const uint64_t rows = ctx.input_shape(0)[0];
  const BufferSlice draw = ctx.Scratch("draw", DType::F32, {rows, c.heads});
  KernelCall call(kernel);
  for (int i = 0; i < 2 + kOutputs; ++i) call.Buffer(ctx.in(i));
  call.Buffer(ctx.has_output(0) ? ctx.out(0)
                                : ctx.Scratch("d_projected", DType::F32, ctx.input_shape(0)));
  SetConfig(call.Buffer(draw), c, rows);
  OA_RETURN_IF_ERROR(EmitRows(ctx, std::move(call), c, rows));
  if (!ctx.has_output(1)) return absl::OkStatus();
  return EmitOrderedSum(ctx, draw, rows, c.heads, ctx.out(1));
}

// ---- Rows ----

OpDef Row(const char* name, const char* equation) {
  OpDef row;
  row.name = name;
  row.family = "mamba3";
  row.equation = equation;
  row.shapes =
      "projected [M, 2I + 2KN + 3H + A], dt_bias [H], x, z [M, I], bh, ch [M, KN], dt, adt, trap "
      "[M, H], angle [M, A]; K = num_groups * mimo_rank, 2A <= N";
  row.operands = {{.name = "projected"}, {.name = "dt_bias"}};
  for (const char* size :
       {"inner_size", "state_size", "num_heads", "num_rope_angles", "num_groups", "mimo_rank"}) {
    row.attributes.push_back({size, AttributeKind::kU32});
  }
  for (const char* rate : {"epsilon", "dt_min", "dt_max", "a_floor"}) {
    row.attributes.push_back({rate, AttributeKind::kF32});
  }
  row.allow_empty = true;  // angle [M, 0]
  row.rejects =
      "projected not of rank 2 or of another width; no rows; a size of 0 other than "
      "num_rope_angles; num_rope_angles above half of state_size; a rate that is not finite; "
      "epsilon, dt_min or a_floor not above 0; dt_min above dt_max; dt_bias not [H]";
  return row;
}

constexpr const char* kValues[] = {"x", "z", "bh", "ch", "dt", "adt", "trap", "angle"};

}  // namespace

std::vector<OpDef> Mamba3PreprocessOps() {
  OpDef forward =
      Row("mamba3_preprocess",
          "rows cut into z, x, B, C, dd_dt, dd_a, trap, angle; bh, ch = B, C over their "
          "root mean square, dt = clamp(softplus(dd_dt + dt_bias)), adt = dt * "
          "min(-heavy(dd_a), -a_floor)");
  for (const char* name : kValues) forward.results.push_back({.name = name});
  forward.kernels = {"mamba3_preprocess_f32"};
  forward.infer = Infer;
  forward.adjoint = Adjoint;
  forward.lower = Lower;

  OpDef backward = Row("mamba3_preprocess_backward",
                       "the gradients of projected and dt_bias from those of the eight values; "
                       "d_dt_bias sums rows in rising order");
  for (const char* name : kValues) backward.operands.push_back({.name = std::string("d_") + name});
  backward.results = {{.name = "d_projected", .optional = true},
                      {.name = "d_dt_bias", .optional = true}};
  backward.kernels = {"mamba3_preprocess_backward_f32", "mamba3_ordered_sum_f32"};
  backward.infer = InferBackward;
  backward.lower = LowerBackward;
  return {forward, backward};
}

}  // namespace oa::ir
