// Routing decisions of mixtures of experts: moe_expert_plan and moe_routing_bias_update. Nothing
// here carries a gradient.
#include <algorithm>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/matmul.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "moe";

// ---- moe_expert_plan ----

constexpr int64_t kMaxExperts = 256;
// The constant `phase` of expert_plan.comp.
constexpr uint32_t kAll = 0, kCount = 1, kScan = 2, kPlace = 3;

absl::Status InferPlan(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  const int64_t experts = ctx.attributes().i64("num_experts");
  if (experts < 1 || experts > kMaxExperts) {
    return ctx.Fail("attribute 'num_experts' is ", experts, ", must be from 1 to ", kMaxExperts);
  }
  const uint64_t count = static_cast<uint64_t>(experts);
  const uint64_t routes = ctx.shape(0)[0] * ctx.shape(0)[1];
  for (uint64_t extent : {count, count + 1, routes, routes, routes, routes}) {
    OA_RETURN_IF_ERROR(ctx.AddResult(DType::U32, {extent}));
  }
  return absl::OkStatus();
}

// How the routes are cut. One block is sorted by one workgroup in one dispatch; on CPU devices,
// which have few cores, that is worthwhile much longer.
uint64_t RoutesPerBlock(const DeviceProfile& profile, uint64_t routes) {
  const uint64_t least = profile.is_cpu ? 1 << 14 : 1 << 11;
  const uint64_t most_blocks = profile.is_cpu ? 256 : 512;
  return std::max(least, AlignUp(CeilDiv(routes, most_blocks), 256));
}

struct PlanCut {
  uint64_t routes, experts, block, blocks;
  BufferSlice sizes, firsts;  // of the buckets of each block
};

absl::Status EmitPlanPhase(LowerContext& ctx, const PlanCut& cut, uint32_t phase) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("moe_expert_plan_u32"));
  const uint64_t rows = phase == kScan ? 1 : cut.blocks;
  const uint64_t lanes = kernel->local_size[0], buckets = cut.experts + 1;
  const uint64_t share = CeilDiv(buckets, lanes);
  // Both passes over the routes, the starts of the buckets, and in the scan all blocks twice.
  uint64_t iterations = 2 * (cut.block / lanes + 1) + share * (buckets + 6) + 8;
  if (phase == kScan) iterations = share * (2 * cut.blocks + buckets + 6) + 8;
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(rows, iterations));
  KernelCall call(kernel);
  const bool starts = phase == kAll || phase == kScan, places = phase == kAll || phase == kPlace;
  call.Buffer(phase == kScan ? BufferSlice() : ctx.in(0));
  call.Buffer(phase == kScan ? cut.sizes : phase == kPlace ? cut.firsts : BufferSlice());
  call.Buffer(phase == kScan ? cut.firsts : phase == kCount ? cut.sizes : BufferSlice());
  for (int i = 0; i < 6; ++i) {
    call.Buffer((i < 2 ? starts : places) ? ctx.out(i) : BufferSlice());
  }
  call.U32(cut.routes).U32(ctx.input_shape(0)[1]).U32(cut.experts).U32(cut.block).U32(cut.blocks);
  return ctx.Emit(std::move(call.Constant("phase", phase).Grid(groups)));
}

absl::Status LowerPlan(LowerContext& ctx) {
  PlanCut cut = {};
  cut.routes = ctx.input_count_of(0);
  cut.experts = static_cast<uint64_t>(ctx.attributes().i64("num_experts"));
  cut.block = RoutesPerBlock(ctx.profile(), cut.routes);
  cut.blocks = CeilDiv(cut.routes, cut.block);
  if (cut.blocks == 1) return EmitPlanPhase(ctx, cut, kAll);
  cut.sizes = ctx.Scratch("sizes", DType::U32, {cut.blocks, cut.experts + 1});
  cut.firsts = ctx.Scratch("firsts", DType::U32, {cut.blocks, cut.experts + 1});
  for (uint32_t phase : {kCount, kScan, kPlace}) {
    OA_RETURN_IF_ERROR(EmitPlanPhase(ctx, cut, phase));
  }
  return absl::OkStatus();
}

OpDef PlanRow() {
  OpDef row = MakeRow(
      {"moe_expert_plan", kFamily,
       "the valid routes sorted stably by expert: packed_slot[inverse[s]] = s, packed_token = "
       "packed_slot / K; 0xffffffff where there is no valid route; offsets[e] = sum of counts[< e]",
       "indices i32 [T, K], R = T * K; u32: counts [E], offsets [E + 1], packed_token, "
       "packed_expert, packed_slot, inverse [R]"},
      {DetachedOperand("indices", Only(DType::I32))},
      {DetachedResult("counts"), DetachedResult("offsets"), DetachedResult("packed_token"),
       DetachedResult("packed_expert"), DetachedResult("packed_slot"), DetachedResult("inverse")});
  row.attributes = {IntegerAttribute("num_experts")};
  row.rejects = "indices not of rank 2; num_experts not from 1 to 256";
  row.notes =
      "An index outside [0, num_experts) is no route: it is counted nowhere, and every consumer of "
      "the maps skips it.";
  row.kernels = {"moe_expert_plan_u32"};
  row.infer = InferPlan;
  row.lower = LowerPlan;
  return row;
}

// ---- moe_routing_bias_update ----

absl::Status InferBias(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_ASSIGN_OR_RETURN(const uint64_t count, ElementCount(ctx.shape(1)));
  if (count != ctx.shape(0)[1]) {
    return ctx.Fail("there are ", count, " biases for ", ctx.shape(0)[1], " experts");
  }
  const int64_t routes = ctx.attributes().i64("experts_per_token");
  if (routes < 0 || routes > int64_t{UINT32_MAX}) {
    return ctx.Fail("attribute 'experts_per_token' is ", routes, ", must be from 0 to 2^32-1");
  }
  ctx.AddInPlace(1);
  return absl::OkStatus();
}

absl::Status LowerBias(LowerContext& ctx) {
  const uint64_t tokens = ctx.input_shape(0)[0], experts = ctx.input_shape(0)[1];
  const BufferSlice load = ctx.Scratch("load", DType::F32, {experts});
  OA_RETURN_IF_ERROR(EmitColumnSum(ctx, ctx.in(0), tokens, experts, load));
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("moe_routing_bias_f32"));
  const double routes = static_cast<double>(ctx.attributes().i64("experts_per_token"));
  const double target = static_cast<double>(tokens) * routes / static_cast<double>(experts);
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(load)
                      .Buffer(ctx.out())
                      .U32(experts)
                      .F32(static_cast<float>(target))
                      .F32(ctx.attributes().f32("gamma"))
                      .Grid(ctx.StridedGroups(*kernel, experts)));
}

OpDef BiasRow() {
  OpDef row = MakeRow({"moe_routing_bias_update", kFamily,
                       "bias[e] -= gamma * sign(sum_t mask[t, e] - T * experts_per_token / E)",
                       "mask [T, E] of 0 and 1, bias [..] with E elements"},
                      {DetachedOperand("mask"), MutatedOperand("bias")}, {DetachedResult("bias")});
  row.attributes = {IntegerAttribute("experts_per_token"), RealAttribute("gamma")};
  row.rejects = "mask not of rank 2; a bias without E elements; a negative experts_per_token";
  row.kernels = {"moe_routing_bias_f32", "column_sum_f32"};
  row.infer = InferBias;
  row.lower = LowerBias;
  return row;
}

}  // namespace

std::vector<OpDef> MoePlanOps() { return {PlanRow(), BiasRow()}; }

}  // namespace oa::ir
