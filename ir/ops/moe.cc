// What moves rows between tokens and routes in mixtures of experts: moe_route_weights, moe_gather
// and moe_combine. Maps are data: an entry that names no row counts as "no route".
#include <algorithm>
#include <bit>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/indexed_rows.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "moe";

OperandDef Map(const char* name) { return DetachedOperand(name, Only(DType::U32)); }

// Rows of floats are moved four at a time where that divides them.
uint64_t Unit(uint64_t columns) { return columns % 4 == 0 ? 4 : 1; }

// ---- moe_route_weights ----

// (probabilities, indices) at operands `p` and `p + 1`.
absl::Status CheckRouteWeights(const InferContext& ctx, int p) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(p, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(p + 1, 2));
  const Shape& probabilities = ctx.shape(p);
  const Shape& indices = ctx.shape(p + 1);
  if (probabilities[0] != indices[0]) {
    return ctx.Fail("there are ", probabilities[0], " rows of probabilities and ", indices[0],
                    " rows of indices");
  }
  if (indices[1] == 0 || indices[1] > probabilities[1]) {
    return ctx.Fail("a token has ", indices[1], " routes, must have from 1 to the ",
                    probabilities[1], " experts there are");
  }
  return absl::OkStatus();
}

absl::Status InferRouteWeights(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRouteWeights(ctx, 0));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

// (g, probabilities, indices, y).
absl::Status InferRouteWeightsBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRouteWeights(ctx, 1));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(3, 2));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

absl::Status AdjointRouteWeights(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1), ctx.output()});
}

absl::Status LowerRouteWeights(LowerContext& ctx) {
  const uint64_t tokens = ctx.input_shape(1)[0], routes = ctx.input_shape(1)[1];
  if (tokens == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("moe_route_weights_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.StridedGroups(*kernel, tokens, 2 * routes + 2));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.in(1))
                      .Buffer(ctx.out())
                      .U32(tokens)
                      .U32(ctx.input_shape(0)[1])
                      .U32(routes)
                      .Grid(groups));
}

absl::Status LowerRouteWeightsBackward(LowerContext& ctx) {
  const uint64_t count = ctx.output_count_of(), routes = ctx.input_shape(2)[1];
  if (count == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("moe_route_weights_backward_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.StridedGroups(*kernel, count, 2 * routes + 2));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.in(1))
                      .Buffer(ctx.in(2))
                      .Buffer(ctx.in(3))
                      .Buffer(ctx.out())
                      .U32(ctx.output_shape()[0])
                      .U32(ctx.output_shape()[1])
                      .U32(routes)
                      .Grid(groups));
}

std::vector<OpDef> RouteWeightRows() {
  const OperandDef indices = DetachedOperand("indices", Only(DType::I32));
  OpDef row = MakeRow({"moe_route_weights", kFamily,
                       "y[t, k] = p_k / sum of all p_k of t where that is > 0, else 0; p_k = "
                       "probabilities[t, indices[t, k]], 0 for an index not in [0, E)",
                       "probabilities [T, E], indices i32 [T, K], y [T, K]"},
                      {Operand("probabilities"), indices}, {{.name = "y"}});
  row.allow_empty = true;
  row.rejects =
      "operands not of rank 2 or for different T; no experts; no routes or more than experts";
  row.notes = "All slots of a repeated expert get a gradient.";
  row.kernels = {"moe_route_weights_f32"};
  row.infer = InferRouteWeights;
  row.adjoint = AdjointRouteWeights;
  row.lower = LowerRouteWeights;

  OpDef backward = BackwardRow(row,
                               {"dprobabilities[t, e] = sum of (g[t, k] - D) / s over the k with "
                                "indices[t, k] == e, D = sum "
                                "of g * y and s = sum of p_k over the valid k of t; 0 unless s > 0",
                                "g, y, indices i32 [T, K], probabilities, dprobabilities [T, E]"},
                               {Operand("g"), Operand("probabilities"), indices, Operand("y")},
                               {{.name = "dprobabilities"}});
  backward.kernels = {"moe_route_weights_backward_f32"};
  backward.infer = InferRouteWeightsBackward;
  backward.lower = LowerRouteWeightsBackward;
  return {row, backward};
}

// ---- Sums over the routes of a token: moe_combine, moe_gather_backward ----

// y [T, D] = sums of the rows of x [R, D] that `inverse` names, times `gate` unless that is empty.
absl::Status EmitRouteSum(LowerContext& ctx, BufferSlice x, BufferSlice inverse, BufferSlice gate,
                          uint64_t routes) {
  const uint64_t tokens = ctx.output_shape()[0], columns = ctx.output_shape()[1];
  const uint64_t unit = Unit(columns), items = tokens * (columns / unit);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(unit == 4 ? "moe_route_sum_f32x4" : "moe_route_sum_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.StridedGroups(*kernel, items, routes / tokens + 1));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(x)
                      .Buffer(inverse)
                      .Buffer(gate)
                      .Buffer(ctx.out())
                      .U32(tokens)
                      .U32(routes)
                      .U32(columns / unit)
                      .Constant("weighted", gate.size_bytes != 0)
                      .Flops(2 * routes * columns)
                      .Grid(groups));
}

// ---- moe_gather ----

absl::Status CheckRoutesPerToken(const InferContext& ctx, uint64_t routes, uint64_t tokens) {
  if (tokens != 0 && routes % tokens == 0) return absl::OkStatus();
  return ctx.Fail("there are ", routes, " routes, which ", tokens, " tokens do not divide");
}

absl::Status InferGather(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(2, 1));
  const uint64_t routes = ctx.shape(1)[0];
  OA_RETURN_IF_ERROR(CheckRoutesPerToken(ctx, routes, ctx.shape(0)[0]));
  return ctx.AddResult(DType::F32, {routes, ctx.shape(0)[1]});
}

// (source, inverse).
absl::Status InferGatherBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireShape(1, {ctx.shape(0)[0]}));
  const int64_t rows = ctx.attributes().i64("output_rows");
  if (rows < 1) return ctx.Fail("attribute 'output_rows' is ", rows, ", must be positive");
  const uint64_t tokens = static_cast<uint64_t>(rows);
  OA_RETURN_IF_ERROR(CheckRoutesPerToken(ctx, ctx.shape(0)[0], tokens));
  return ctx.AddResult(DType::F32, {tokens, ctx.shape(0)[1]});
}

absl::Status AdjointGather(AdjointContext& ctx) {
  const int64_t rows = static_cast<int64_t>(ctx.shape(ctx.input(0))[0]);
  OA_ASSIGN_OR_RETURN(const ValueId dx, ctx.Emit("moe_gather_backward", {ctx.grad(), ctx.input(2)},
                                                 Attributes().I64("output_rows", rows)));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

absl::Status LowerGather(LowerContext& ctx) {
  const IndexedRows by = {ctx.in(1), DType::U32, ctx.input_count_of(1), ctx.input_shape(0)[0]};
  return EmitRowGather(ctx, by, ctx.in(0), ctx.input_shape(0)[1], ctx.out());
}

absl::Status LowerGatherBackward(LowerContext& ctx) {
  return EmitRouteSum(ctx, ctx.in(0), ctx.in(1), BufferSlice(), ctx.input_shape(0)[0]);
}

std::vector<OpDef> GatherRows() {
  OpDef row = MakeRow(
      {"moe_gather", kFamily, "y[p, :] = x[packed_token[p], :]; zeros where packed_token[p] >= T",
       "x [T, D], packed_token, inverse u32 [R], y [R, D]; R a multiple of T"},
      {Operand("x"), Map("packed_token"), Map("inverse")}, {{.name = "y"}});
  row.rejects = "x not of rank 2, maps not of rank 1 or of different length; R not a multiple of T";
  row.kernels = {"gather_u32", "gather_u32x4"};
  row.infer = InferGather;
  row.adjoint = AdjointGather;
  row.lower = LowerGather;

  OpDef backward = BackwardRow(
      row,
      {"dx[t, :] = sum over k < R / T of source[inverse[t * R / T + k], :]; an inverse >= R adds "
       "nothing",
       "source [R, D], inverse u32 [R], dx [T, D]; T = output_rows"},
      {Operand("source"), Map("inverse")}, {{.name = "dx"}});
  backward.attributes = {IntegerAttribute("output_rows")};
  backward.rejects =
      "source not of rank 2, inverse not [R]; output_rows not positive or not dividing R";
  backward.kernels = {"moe_route_sum_f32", "moe_route_sum_f32x4"};
  backward.infer = InferGatherBackward;
  backward.lower = LowerGatherBackward;
  return {row, backward};
}

// ---- moe_combine ----

// (packed, route_gate, inverse, packed_slot) from operand `i` on.
absl::Status CheckCombine(const InferContext& ctx, int i) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(i, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(i + 1, 2));
  const uint64_t routes = ctx.shape(i)[0];
  OA_ASSIGN_OR_RETURN(const uint64_t gates, ElementCount(ctx.shape(i + 1)));
  if (gates != routes) {
    return ctx.Fail("there are ", routes, " packed rows and ", gates, " gates");
  }
  OA_RETURN_IF_ERROR(ctx.RequireShape(i + 2, {routes}));
  return ctx.RequireShape(i + 3, {routes});
}

absl::Status InferCombine(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckCombine(ctx, 0));
  return ctx.AddResult(DType::F32, {ctx.shape(1)[0], ctx.shape(0)[1]});
}

// (g, packed, route_gate, inverse, packed_slot).
absl::Status InferCombineBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckCombine(ctx, 1));
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {ctx.shape(2)[0], ctx.shape(1)[1]}));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(1)));
  return ctx.AddResult(DType::F32, ctx.shape(2));
}

absl::Status AdjointCombine(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3)});
}

absl::Status LowerCombine(LowerContext& ctx) {
  return EmitRouteSum(ctx, ctx.in(0), ctx.in(2), ctx.in(1), ctx.input_shape(0)[0]);
}

absl::Status LowerCombineBackward(LowerContext& ctx) {
  const uint64_t routes = ctx.input_shape(1)[0], columns = ctx.input_shape(1)[1];
  const uint64_t unit = Unit(columns), units = columns / unit;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select(unit == 4 ? "moe_combine_backward_f32x4"
                                                                 : "moe_combine_backward_f32"));
  const uint64_t group = kernel->local_size[0];
  const bool one_row = kernel->device == KernelDevice::kCpu;  // a subgroup sums one row
  const uint64_t lanes = one_row ? group : std::min(group, std::bit_ceil(units));
  const uint64_t blocks = CeilDiv(routes, group / lanes);
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(blocks, 2 * CeilDiv(units, lanes) + 4));
  KernelCall call(kernel);
  for (int i = 0; i < 5; ++i) call.Buffer(ctx.in(i));
  call.Buffer(ctx.out_or_null(0)).Buffer(ctx.out_or_null(1));
  call.U32(ctx.input_shape(2)[0]).U32(routes).U32(units);
  call.Constant("lanes", static_cast<uint32_t>(lanes))
      .Constant("want_packed", ctx.has_output(0))
      .Constant("want_gate", ctx.has_output(1));
  return ctx.Emit(std::move(call.Flops(3 * routes * columns).Grid(groups)));
}

std::vector<OpDef> CombineRows() {
  OpDef row = MakeRow(
      {"moe_combine", kFamily,
       "y[t, :] = sum_k route_gate[t, k] * packed[inverse[t * K + k], :]; an inverse >= R adds "
       "nothing",
       "packed [R, D], route_gate [T, K], inverse, packed_slot u32 [R], y [T, D]; R = T * K"},
      {Operand("packed"), Operand("route_gate"), Map("inverse"), Map("packed_slot")},
      {{.name = "y"}});
  row.rejects = "packed or route_gate not of rank 2; maps not [R]; R other than T * K";
  row.kernels = {"moe_route_sum_f32", "moe_route_sum_f32x4"};
  row.infer = InferCombine;
  row.adjoint = AdjointCombine;
  row.lower = LowerCombine;

  OpDef backward = BackwardRow(
      row,
      {"dpacked[p, :] = route_gate[s] * g[s / K, :], s = packed_slot[p]; droute_gate[t, k] = "
       "sum_d g[t, d] * packed[inverse[t * K + k], d]; 0 where the map holds no route",
       "g [T, D], packed, dpacked [R, D], route_gate, droute_gate [T, K], inverse, packed_slot "
       "u32 [R]"},
      {Operand("g"), Operand("packed"), Operand("route_gate"), Map("inverse"), Map("packed_slot")},
      OptionalResults({"dpacked", "droute_gate"}));
  backward.kernels = {"moe_combine_backward_f32", "moe_combine_backward_f32x4"};
  backward.infer = InferCombineBackward;
  backward.lower = LowerCombineBackward;
  return {row, backward};
}

}  // namespace

std::vector<OpDef> MoeOps() {
  std::vector<OpDef> rows = RouteWeightRows();
  for (const std::vector<OpDef>& more : {GatherRows(), CombineRows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace oa::ir
