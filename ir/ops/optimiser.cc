// Optimiser updates: in-place, never differentiable, driven by a state block on the device so that
// a replay may change the learning rate. Each update is one record of a multi-tensor kernel; the
// fuse pass joins the records of many parameters into one dispatch.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "optimiser";

constexpr DTypeSet kU32 = Only(DType::U32);

// ---- Validation ----

// InvalidArgument unless `allowed` holds for attribute `name`.
absl::Status RequireReal(const InferContext& ctx, const char* name, bool (*allowed)(float),
                         const char* rule) {
  const float value = ctx.attributes().f32(name);
  if (allowed(value)) return absl::OkStatus();
  return ctx.Fail("attribute '", name, "' is ", value, ", must be ", rule);
}

absl::Status RequireFinite(const InferContext& ctx, const char* name) {
  return RequireReal(
      ctx, name, [](float x) { return std::isfinite(x); }, "finite");
}

absl::Status RequireNotNegative(const InferContext& ctx, const char* name) {
  return RequireReal(
      ctx, name, [](float x) { return std::isfinite(x) && x >= 0; }, "finite and not negative");
}

absl::Status RequirePositive(const InferContext& ctx, const char* name) {
  return RequireReal(
      ctx, name, [](float x) { return std::isfinite(x) && x > 0; }, "finite and greater than zero");
}

absl::Status RequireBeta(const InferContext& ctx, const char* name) {
  return RequireReal(
      ctx, name, [](float x) { return x >= 0 && x < 1; }, "at least 0 and less than 1");
}

// Operands param, grad, momentum?, state.
absl::Status InferSgd(InferContext& ctx) {
  OA_RETURN_IF_ERROR(RequireFinite(ctx, "lr"));
  OA_RETURN_IF_ERROR(RequireNotNegative(ctx, "momentum"));
  OA_RETURN_IF_ERROR(RequireNotNegative(ctx, "weight_decay"));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(1, 0));
  OA_RETURN_IF_ERROR(ctx.RequireShape(3, {3}));
  ctx.AddInPlace(0);
  if (ctx.has(2)) {
    OA_RETURN_IF_ERROR(ctx.RequireSameShape(2, 0));
    ctx.AddInPlace(2);
  } else if (ctx.attributes().f32("momentum") != 0) {
    return ctx.Fail("operand 'momentum' is required when attribute 'momentum' is not 0");
  }
  return absl::OkStatus();
}

// Operands param, grad, m, v, state.
absl::Status InferAdam(InferContext& ctx) {
  OA_RETURN_IF_ERROR(RequireFinite(ctx, "lr"));
  OA_RETURN_IF_ERROR(RequireBeta(ctx, "beta1"));
  OA_RETURN_IF_ERROR(RequireBeta(ctx, "beta2"));
  OA_RETURN_IF_ERROR(RequirePositive(ctx, "epsilon"));
  OA_RETURN_IF_ERROR(RequireNotNegative(ctx, "weight_decay"));
  for (int i : {1, 2, 3}) OA_RETURN_IF_ERROR(ctx.RequireSameShape(i, 0));
  OA_RETURN_IF_ERROR(ctx.RequireShape(4, {6}));
  for (int i : {0, 2, 3}) ctx.AddInPlace(i);
  return absl::OkStatus();
}

absl::Status InferAdvance(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {6}));
  ctx.AddInPlace(0);
  return absl::OkStatus();
}

absl::Status InferClip(InferContext& ctx) {
  OA_RETURN_IF_ERROR(RequirePositive(ctx, "max_norm"));
  for (int i = 0; i < ctx.operand_count(); ++i) ctx.AddInPlace(i);
  return ctx.AddResult(DType::F32, {1});
}

// ---- Lowering ----

// Loop iterations of a workgroup on one block: the search for its record, then its elements.
uint64_t BlockIterations(const Kernel& kernel, uint64_t elements) {
  constexpr uint64_t kSearchAndTails = 40;
  return CeilDiv(elements, uint64_t{4} * kernel.local_size[0]) + kSearchAndTails;
}

// What follows the buffers of a record that is alone in its dispatch, and the grid.
absl::Status EmitRecord(LowerContext& ctx, KernelCall call, uint64_t blocks, uint64_t count) {
  const uint64_t iterations = BlockIterations(call.kernel(), call.kernel().tile[0]);
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(blocks, iterations));
  call.U32(/*first_block=*/0).U32(blocks).U32(count);
  call.Loops({.shared = blocks * (iterations + 1)}).Grid(groups);
  return ctx.Emit(std::move(call));
}

absl::Status LowerSgd(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("sgd_f32"));
  const uint64_t count = ctx.input_count_of(0);
  const uint64_t blocks = CeilDiv(count, kernel->tile[0]);
  KernelCall call(kernel);
  call.Buffer(ctx.in(3)).U32(/*record_count=*/1).U32(blocks);
  call.Buffer(ctx.out(0)).Buffer(ctx.in(1)).Buffer(ctx.in_or_null(2));
  call.Constant("has_momentum", ctx.has_input(2))
      .Constant("nesterov", ctx.attributes().boolean("nesterov"));
  return EmitRecord(ctx, std::move(call.Flops(8 * count)), blocks, count);
}

template <bool kDecoupled>
absl::Status LowerAdam(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("adam_f32"));
  const uint64_t count = ctx.input_count_of(0);
  const uint64_t blocks = CeilDiv(count, kernel->tile[0]);
  KernelCall call(kernel);
  call.Buffer(ctx.in(4)).U32(/*record_count=*/1).U32(blocks);
  call.Buffer(ctx.out(0)).Buffer(ctx.in(1)).Buffer(ctx.out(1)).Buffer(ctx.out(2));
  call.Constant("decoupled", kDecoupled);
  return EmitRecord(ctx, std::move(call.Flops(16 * count)), blocks, count);
}

absl::Status LowerAdvance(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("optimiser_advance_u32"));
  return ctx.Emit(KernelCall(kernel).Buffer(ctx.out()));
}

// How the gradients of one clip_grad_norm are cut. Every workgroup of the second dispatch adds all
// partial sums, so there are few of them: about kClipBlocks, whatever the model.
struct ClipBlocks {
  uint64_t block_elements = 0;
  uint64_t total = 0;
  uint64_t elements = 0;
};

ClipBlocks CutForClipping(const LowerContext& ctx, uint64_t least_elements) {
  constexpr uint64_t kClipBlocks = 1024;
  ClipBlocks blocks;
  for (int i = 0; i < ctx.input_count(); ++i) blocks.elements += ctx.input_count_of(i);
  blocks.block_elements =
      std::max(least_elements, AlignUp(CeilDiv(blocks.elements, kClipBlocks), 4));
  for (int i = 0; i < ctx.input_count(); ++i) {
    blocks.total += CeilDiv(ctx.input_count_of(i), blocks.block_elements);
  }
  return blocks;
}

void AddClipRecords(const LowerContext& ctx, const ClipBlocks& blocks, KernelCall& call) {
  uint64_t first_block = 0;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const uint64_t count = ctx.input_count_of(i);
    const uint64_t own = CeilDiv(count, blocks.block_elements);
    call.Buffer(ctx.in(i)).U32(first_block).U32(own).U32(count);
    first_block += own;
  }
}

absl::Status LowerClip(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* partial, ctx.Select("clip_partial_f32"));
  OA_ASSIGN_OR_RETURN(const Kernel* apply, ctx.Select("clip_apply_f32"));
  const ClipBlocks blocks = CutForClipping(ctx, partial->tile[0]);
  const BufferSlice partials = ctx.Scratch("partials", DType::F32, {blocks.total});
  KernelCall sums(partial);
  sums.Buffer(partials).U32(ctx.input_count()).U32(blocks.total).U32(blocks.block_elements);
  AddClipRecords(ctx, blocks, sums);
  OA_ASSIGN_OR_RETURN(
      uint64_t groups,
      ctx.RowGroups(blocks.total, BlockIterations(*partial, blocks.block_elements)));
  sums.Flops(2 * blocks.elements).Grid(groups);
  OA_RETURN_IF_ERROR(ctx.Emit(std::move(sums)));

  KernelCall scale(apply);
  scale.Buffer(partials).Buffer(ctx.out(ctx.input_count()));
  scale.U32(ctx.input_count()).U32(blocks.total).U32(blocks.block_elements);
  scale.F32(ctx.attributes().f32("max_norm"));
  AddClipRecords(ctx, blocks, scale);
  // Every workgroup adds all partial sums first.
  OA_ASSIGN_OR_RETURN(groups,
                      ctx.RowGroups(blocks.total, BlockIterations(*apply, blocks.block_elements),
                                    CeilDiv(blocks.total, apply->local_size[0]) + 1));
  scale.Flops(blocks.elements).Grid(groups);
  return ctx.Emit(std::move(scale));
}

// ---- Rows ----

OpDef SgdRow() {
  OpDef row = MakeRow({"sgd_step", kFamily,
                       "d = grad + wd * w; without momentum w -= lr * d; else m = mu * m + d, "
                       "w -= lr * (nesterov ? d + mu * m : m)",
                       "param, grad, momentum? [..], state f32 [3] = {lr, mu, wd}"},
                      {MutatedOperand("param"), DetachedOperand("grad"), MutatedOperand("momentum"),
                       DetachedOperand("state")},
                      {DetachedResult("param"), DetachedResult("momentum")});
  row.operands[2].optional = true;
  row.results[1].optional = true;
  row.attributes = {RealAttribute("lr"),
                    RealAttribute("momentum"),
                    RealAttribute("weight_decay"),
                    {"nesterov", AttributeKind::kBool}};
  row.infer = InferSgd;
  row.rejects =
      "grad or momentum not shaped like param; a state that is not [3]; lr not finite; momentum or "
      "weight_decay negative or not finite; no momentum operand although momentum is not 0";
  row.notes =
      "Recorded by oa::ml::optim::Sgd. The attributes are the initial values; the state on the "
      "device counts. Updates of many parameters become one dispatch.";
  row.lower = LowerSgd;
  row.kernels = {"sgd_f32"};
  return row;
}

template <bool kDecoupled>
OpDef AdamRow() {
  OpDef row =
      MakeRow({kDecoupled ? "adamw_step" : "adam_step", kFamily,
               std::string(kDecoupled ? "w -= lr * wd * w, d = grad; " : "d = grad + wd * w; ") +
                   "m = b1 * m + (1 - b1) * d; v = b2 * v + (1 - b2) * d^2; "
                   "w -= lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)",
               "param, grad, m, v [..], state u32 [6] = {t; bits of f32 lr, b1, b2, eps, wd}"},
              {MutatedOperand("param"), DetachedOperand("grad"), MutatedOperand("m"),
               MutatedOperand("v"), DetachedOperand("state", kU32)},
              {DetachedResult("param"), DetachedResult("m"), DetachedResult("v")});
  row.attributes = {RealAttribute("lr"), RealAttribute("beta1"), RealAttribute("beta2"),
                    RealAttribute("epsilon"), RealAttribute("weight_decay")};
  row.infer = InferAdam;
  row.rejects =
      "grad, m or v not shaped like param; a state that is not [6]; lr not finite; beta1 or beta2 "
      "outside [0, 1); epsilon not above 0; weight_decay negative; either not finite";
  row.notes = absl::StrCat("Recorded by oa::ml::optim::", kDecoupled ? "AdamW" : "Adam",
                           ". The attributes are the initial values; the state on the device "
                           "counts. Updates of many parameters become one dispatch.");
  row.lower = LowerAdam<kDecoupled>;
  row.kernels = {"adam_f32"};
  return row;
}

OpDef AdvanceRow() {
  OpDef row =
      MakeRow({"optimiser_advance", kFamily, "t += 1", "state u32 [6], of which word 0 is t"},
              {MutatedOperand("state", kU32)}, {DetachedResult("state")});
  row.infer = InferAdvance;
  row.rejects = "a state that is not [6]";
  row.notes = "Recorded once a step by the Adam optimisers. t stays at 2^32 - 1.";
  row.lower = LowerAdvance;
  row.kernels = {"optimiser_advance_u32"};
  return row;
}

OpDef ClipRow() {
  OpDef row =
      MakeRow({"clip_grad_norm", kFamily,
               "norm = sqrt(sum over all gradients of g^2); norm > max_norm: g *= max_norm / norm",
               "gradients [..] each, norm [1]"},
              {MutatedOperand("gradients")}, {DetachedResult("gradients"), DetachedResult("norm")});
  row.operands[0].variadic = true;
  row.attributes = {RealAttribute("max_norm")};
  row.infer = InferClip;
  row.rejects = "max_norm not finite or not above 0";
  row.lower = LowerClip;
  row.kernels = {"clip_partial_f32", "clip_apply_f32"};
  return row;
}

}  // namespace

std::vector<OpDef> OptimiserOps() {
  return {SgdRow(), AdamRow<false>(), AdamRow<true>(), AdvanceRow(), ClipRow()};
}

}  // namespace oa::ir
