// Random numbers: random_uniform, random_normal, dropout, and replay_advance, which makes every
// replay draw fresh ones. All are pure functions of a seed and the replay counter, a one-element
// state that they read in its first version; replay_advance makes the next one (FORMAT.md).
#include <cmath>
#include <utility>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "random";
// One invocation draws a block of Philox.
constexpr uint64_t kBlockElements = 4;

OperandDef Replay() { return DetachedOperand("replay", Only(DType::U32)); }

KernelCall& AddSeed(const LowerContext& ctx, KernelCall& call) {
  const uint64_t seed = ctx.attributes().u64("seed");
  return call.U32(seed & UINT32_MAX).U32(seed >> 32);
}

uint64_t Groups(const LowerContext& ctx, const Kernel& kernel) {
  return ctx.StridedGroups(kernel, CeilDiv(ctx.output_count_of(), kBlockElements));
}

// ---- random_uniform, random_normal ----

absl::Status InferRandom(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {1}));
  Shape shape;
  for (int64_t extent : ctx.attributes().list("shape")) {
    if (extent < 0) return ctx.Fail("attribute 'shape' has the negative extent ", extent);
    shape.push_back(static_cast<uint64_t>(extent));
  }
  return ctx.AddResult(DType::F32, shape);
}

absl::Status EmitRandom(LowerContext& ctx, bool normal, float first, float second) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("random_f32"));
  const uint64_t count = ctx.output_count_of();
  KernelCall call(kernel);
  call.Buffer(ctx.in(0)).Buffer(ctx.out()).U32(count);
  AddSeed(ctx, call).F32(first).F32(second);
  call.Constant("normal", normal).Flops(2 * count).Grid(Groups(ctx, *kernel));
  return ctx.Emit(std::move(call));
}

absl::Status LowerUniform(LowerContext& ctx) {
  return EmitRandom(ctx, false, ctx.attributes().f32("low"), ctx.attributes().f32("high"));
}

absl::Status LowerNormal(LowerContext& ctx) {
  return EmitRandom(ctx, true, ctx.attributes().f32("mean"), ctx.attributes().f32("stddev"));
}

OpDef RandomRow(const char* name, const char* equation, const char* first, const char* second,
                absl::Status (*lower)(LowerContext&)) {
  OpDef row = MakeRow({name, kFamily, equation, "replay u32 [1], y [shape]"}, {Replay()},
                      {DetachedResult("y")});
  row.attributes = {{"shape", AttributeKind::kI64List},
                    RealAttribute(first),
                    RealAttribute(second),
                    {"seed", AttributeKind::kU64}};
  row.allow_empty = true;
  row.rejects = "a negative extent; a replay counter that is not [1]";
  row.notes =
      "Draws are a pure function of seed and replay counter (Philox4x32-10); the counter is the "
      "graph's state random.replay and moves on once a replay.";
  row.kernels = {"random_f32"};
  row.infer = InferRandom;
  row.lower = lower;
  return row;
}

// ---- dropout ----

// (x, replay), or (g, replay) of the adjoint. Nothing is dropped with p 0: the result is a view.
absl::Status InferDropout(InferContext& ctx) {
  const float p = ctx.attributes().f32("p");
  if (!(p >= 0 && p < 1)) {
    return ctx.Fail("attribute 'p' is ", p, ", must be at least 0 and less than 1");
  }
  OA_RETURN_IF_ERROR(ctx.RequireShape(1, {1}));
  return p == 0 ? ctx.AddView(0, ctx.shape(0)) : ctx.AddResult(DType::F32, ctx.shape(0));
}

absl::Status AdjointDropout(AdjointContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ValueId dx,
                      ctx.Emit("dropout_backward", {ctx.grad(), ctx.input(1)}, ctx.attributes()));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

absl::Status LowerDropout(LowerContext& ctx) {
  const float p = ctx.attributes().f32("p");
  if (p == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("dropout_f32"));
  const uint64_t count = ctx.output_count_of();
  KernelCall call(kernel);
  call.Buffer(ctx.in(0)).Buffer(ctx.in(1)).Buffer(ctx.out()).U32(count);
  AddSeed(ctx, call).F32(p).F32(static_cast<float>(1 / (1 - static_cast<double>(p))));
  call.Flops(2 * count).Grid(Groups(ctx, *kernel));
  return ctx.Emit(std::move(call));
}

OpDef DropoutRow() {
  OpDef row =
      MakeRow({"dropout", kFamily, "y = x * (u >= p ? 1 / (1 - p) : 0), u the uniforms of stream 0",
               "x, y [..], replay u32 [1]; with p 0 a view"},
              {Operand("x"), Replay()}, {{.name = "y"}});
  row.attributes = {RealAttribute("p"), {"seed", AttributeKind::kU64}};
  row.allow_empty = true;
  row.rejects = "p not in [0, 1); a replay counter that is not [1]";
  row.notes = "The mask is not stored: the gradient draws it again from the same counter.";
  row.kernels = {"dropout_f32"};
  row.infer = InferDropout;
  row.adjoint = AdjointDropout;
  row.lower = LowerDropout;
  return row;
}

OpDef DropoutBackwardRow() {
  OpDef row = BackwardRow(DropoutRow(),
                          {"dx = g * (u >= p ? 1 / (1 - p) : 0), the u of the forward call",
                           "g, dx [..], replay u32 [1]; with p 0 a view"},
                          {Operand("g"), Replay()}, {{.name = "dx"}});
  row.kernels = {"dropout_f32"};
  return row;
}

// ---- replay_advance ----

absl::Status InferAdvance(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {1}));
  ctx.AddInPlace(0);
  return absl::OkStatus();
}

absl::Status LowerAdvance(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("replay_advance_u32"));
  return ctx.Emit(KernelCall(kernel).Buffer(ctx.out()));
}

OpDef AdvanceRow() {
  OpDef row = MakeRow({"replay_advance", kFamily, "replay += 1 modulo 2^32", "replay u32 [1]"},
                      {MutatedOperand("replay", Only(DType::U32))}, {DetachedResult("replay")});
  row.rejects = "a replay counter that is not [1]";
  row.notes = "Recorded with the first random numbers of a graph.";
  row.kernels = {"replay_advance_u32"};
  row.infer = InferAdvance;
  row.lower = LowerAdvance;
  return row;
}

}  // namespace

std::vector<OpDef> RandomOps() {
  return {RandomRow("random_uniform",
                    "y[4b + j] = low + u * (high - low), u = (word j of block b, stream 0 >> 8) / "
                    "2^24",
                    "low", "high", LowerUniform),
          RandomRow("random_normal",
                    "y = mean + stddev * n, n from the words of stream 1 by Box and Muller", "mean",
                    "stddev", LowerNormal),
          DropoutRow(), DropoutBackwardRow(), AdvanceRow()};
}

}  // namespace oa::ir
