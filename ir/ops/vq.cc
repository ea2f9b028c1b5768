// Vector quantisation: vq_assign, vq_lookup and vq_ema_update. Nothing here carries a gradient; the
// straight-through estimator is add(z, detach(sub(q, z))).
#include <algorithm>
#include <cmath>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/indexed_rows.h"
#include "ir/ops/matmul.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "vq";

// ---- vq_assign ----

absl::Status InferAssign(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  const Shape& latent = ctx.shape(0);
  if (latent[1] != ctx.shape(1)[1]) {
    return ctx.Fail("the latents have ", latent[1], " columns, the codes ", ctx.shape(1)[1]);
  }
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::I32, {latent[0]}));
  return ctx.AddResult(DType::F32, latent);
}

// Loop iterations of the CPU kernel for one tile of codes: one per 8 columns, and those around.
constexpr uint64_t kCpuSlice = 8, kTileIterations = 12;
// A share of the codes takes a CPU device at most this many, where one tile does not take more.
constexpr uint64_t kMostIterations = 20000;
// Tiles of codes from which on another share pays on GPUs.
constexpr uint64_t kTilesPerShare = 2;

struct AssignCut {
  uint64_t shares;      // of the codes
  uint64_t iterations;  // for one block of rows and one share
};

AssignCut CutAssign(const LowerContext& ctx, const Kernel& kernel, uint64_t blocks) {
  const uint64_t rows = ctx.input_shape(0)[0];
  const uint64_t tiles = CeilDiv(ctx.input_shape(1)[0], kernel.tile[1]);
  const uint64_t tile_iterations = ctx.input_shape(0)[1] / kCpuSlice + kTileIterations;
  uint64_t shares = 1;
  if (kernel.device == KernelDevice::kCpu) {
    shares = std::min(CeilDiv(tiles * tile_iterations, kMostIterations), tiles);
  } else {
    shares = std::min(CeilDiv(2 * ComputeUnits(ctx), blocks), CeilDiv(tiles, kTilesPerShare));
  }
  shares = std::max<uint64_t>(std::min(shares, UINT32_MAX / rows), 1);
  shares = CeilDiv(tiles, CeilDiv(tiles, shares));  // without empty ones
  return {shares, CeilDiv(tiles, shares) * tile_iterations + 2};
}

absl::Status EmitBest(LowerContext& ctx, BufferSlice keys, BufferSlice codes, uint64_t shares) {
  const uint64_t rows = ctx.input_shape(0)[0];
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("vq_best_u32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.StridedGroups(*kernel, rows, shares));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(keys)
                      .Buffer(codes)
                      .Buffer(ctx.out(0))
                      .U32(rows)
                      .U32(shares)
                      .Grid(groups));
}

absl::Status LowerAssign(LowerContext& ctx) {
  const uint64_t rows = ctx.input_shape(0)[0], columns = ctx.input_shape(0)[1];
  const uint64_t codes = ctx.input_shape(1)[0];
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("vq_assign_f32"));
  const uint64_t blocks = CeilDiv(rows, kernel->tile[0]);
  const AssignCut cut = CutAssign(ctx, *kernel, blocks);
  BufferSlice keys, found = ctx.out(0);
  if (cut.shares > 1) {
    keys = ctx.Scratch("keys", DType::U32, {cut.shares, rows});
    found = ctx.Scratch("codes", DType::U32, {cut.shares, rows});
  }
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(blocks * cut.shares, cut.iterations));
  OA_RETURN_IF_ERROR(ctx.Emit(KernelCall(kernel)
                                  .Buffer(ctx.in(0))
                                  .Buffer(ctx.in(1))
                                  .Buffer(keys)
                                  .Buffer(found)
                                  .U32(rows)
                                  .U32(columns)
                                  .U32(codes)
                                  .U32(cut.shares)
                                  .Constant("want_keys", cut.shares > 1)
                                  .Flops(3 * rows * columns * codes)
                                  .Grid(groups)));
  if (cut.shares > 1) OA_RETURN_IF_ERROR(EmitBest(ctx, keys, found, cut.shares));
  return EmitRowGather(ctx, {ctx.out(0), DType::I32, rows, codes}, ctx.in(1), columns, ctx.out(1));
}

OpDef AssignRow() {
  OpDef row = MakeRow(
      {"vq_assign", kFamily,
       "indices[n] = the smallest k with the smallest sum_d (latent[n, d] - codebook[k, d])^2; "
       "quantized[n, :] = codebook[indices[n], :]",
       "latent, quantized [N, D], codebook [K, D], indices i32 [N]"},
      {DetachedOperand("latent"), DetachedOperand("codebook")},
      {DetachedResult("indices"), DetachedResult("quantized")});
  row.rejects = "operands not of rank 2; different D";
  row.notes = "A code at a distance that is not a number is never chosen, but for code 0.";
  row.kernels = {"vq_assign_f32", "vq_best_u32", "gather_u32", "gather_u32x4"};
  row.infer = InferAssign;
  row.lower = LowerAssign;
  return row;
}

// ---- vq_lookup ----

absl::Status InferLookup(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  const Shape& codebook = ctx.shape(0);
  if (codebook[0] == 0 || codebook[1] == 0) {
    return ctx.Fail("the codebook [", codebook[0], ", ", codebook[1], "] has no elements");
  }
  return ctx.AddResult(DType::F32, {ctx.shape(1)[0], codebook[1]});
}

absl::Status LowerLookup(LowerContext& ctx) {
  const Shape& codebook = ctx.input_shape(0);
  return EmitRowGather(ctx, {ctx.in(1), DType::I32, ctx.input_count_of(1), codebook[0]}, ctx.in(0),
                       codebook[1], ctx.out());
}

OpDef LookupRow() {
  OpDef row = MakeRow({"vq_lookup", kFamily,
                       "y[n, :] = codebook[indices[n], :]; zeros where the index is not in [0, K)",
                       "codebook [K, D], indices i32 [N], y [N, D]"},
                      {DetachedOperand("codebook"), DetachedOperand("indices", Only(DType::I32))},
                      {DetachedResult("y")});
  row.allow_empty = true;
  row.rejects = "codebook not of rank 2 or without elements; indices not of rank 1";
  row.notes = "N may be 0. `gather` has a gradient for the table.";
  row.kernels = {"gather_u32", "gather_u32x4"};
  row.infer = InferLookup;
  row.lower = LowerLookup;
  return row;
}

// ---- vq_ema_update ----

absl::Status CheckEmaAttributes(const InferContext& ctx) {
  const float decay = ctx.attributes().f32("decay");
  if (!(decay >= 0 && decay <= 1)) {
    return ctx.Fail("attribute 'decay' is ", decay, ", must be from 0 to 1");
  }
  OA_RETURN_IF_ERROR(ctx.RequireEpsilon());
  const float threshold = ctx.attributes().f32("dead_threshold");
  if (!(threshold >= 0 && std::isfinite(threshold))) {
    return ctx.Fail("attribute 'dead_threshold' is ", threshold,
                    ", must be finite and not negative");
  }
  return absl::OkStatus();
}

// (latent, indices, embed_sum, cluster_size, codebook).
absl::Status InferEma(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(2, 2));
  OA_RETURN_IF_ERROR(ctx.RequireShape(1, {ctx.shape(0)[0]}));
  const uint64_t codes = ctx.shape(2)[0];
  OA_RETURN_IF_ERROR(ctx.RequireShape(2, {codes, ctx.shape(0)[1]}));
  OA_RETURN_IF_ERROR(ctx.RequireShape(3, {codes}));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(4, 2));
  OA_RETURN_IF_ERROR(CheckEmaAttributes(ctx));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(2)));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, {codes}));
  return ctx.AddResult(DType::F32, ctx.shape(2));
}

absl::Status LowerEma(LowerContext& ctx) {
  const uint64_t rows = ctx.input_shape(0)[0], columns = ctx.input_shape(0)[1];
  const uint64_t codes = ctx.input_shape(2)[0];
  const IndexedRows by = {ctx.in(1), DType::I32, rows, codes};
  OA_ASSIGN_OR_RETURN(const IndexLists lists, EmitIndexLists(ctx, by));
  const BufferSlice sums = ctx.Scratch("sums", DType::F32, {codes, columns});
  OA_RETURN_IF_ERROR(EmitListSums(ctx, by, lists, ctx.in(0), columns, sums));
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("vq_ema_update_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(codes, 2 * CeilDiv(columns, kernel->local_size[0]) + 4));
  KernelCall call(kernel);
  call.Buffer(sums).Buffer(lists.ends).Buffer(ctx.in(0)).Buffer(ctx.in(2)).Buffer(ctx.in(3));
  for (int i = 0; i < 3; ++i) call.Buffer(ctx.out(i));
  call.U32(rows).U32(columns).U32(codes);
  for (const char* name : {"decay", "epsilon", "dead_threshold"}) {
    call.F32(ctx.attributes().f32(name));
  }
  call.U32(ctx.attributes().u32("seed"));
  call.Constant("normalize_codes", ctx.attributes().boolean("normalize"));
  return ctx.Emit(std::move(call.Flops(8 * codes * columns).Grid(groups)));
}

OpDef EmaRow() {
  OpDef row = MakeRow(
      {"vq_ema_update", kFamily,
       "size = decay * cluster_size + (1 - decay) * number of latents with index k; sum = decay * "
       "embed_sum + (1 - decay) * sum of them; code = sum / max(size, epsilon), with normalize "
       "divided by its root mean square where that exceeds epsilon; a code with size < "
       "dead_threshold is revived: code = sum = a latent that k and seed choose, size = 1",
       "latent [N, D], indices i32 [N], embed_sum, codebook, sum, code [K, D], cluster_size, size "
       "[K]"},
      {DetachedOperand("latent"), DetachedOperand("indices", Only(DType::I32)),
       DetachedOperand("embed_sum"), DetachedOperand("cluster_size"), DetachedOperand("codebook")},
      {DetachedResult("embed_sum"), DetachedResult("cluster_size"), DetachedResult("codebook")});
  row.attributes = {RealAttribute("decay"),
                    RealAttribute("epsilon"),
                    RealAttribute("dead_threshold"),
                    {"seed", AttributeKind::kU32},
                    {"normalize", AttributeKind::kBool}};
  row.rejects =
      "latent or embed_sum not of rank 2, or different D; indices not [N], cluster_size not [K], "
      "codebook not [K, D]; decay not from 0 to 1; epsilon not positive or not finite; "
      "dead_threshold negative or not finite";
  row.notes =
      "Indices outside [0, K) count for no code. The values of the operand codebook are not read; "
      "a revived code is not normalised.";
  row.kernels = {"index_lists_u32", "gather_backward_f32", "vq_ema_update_f32"};
  row.infer = InferEma;
  row.lower = LowerEma;
  return row;
}

}  // namespace

std::vector<OpDef> VqOps() { return {AssignRow(), LookupRow(), EmaRow()}; }

}  // namespace oa::ir
