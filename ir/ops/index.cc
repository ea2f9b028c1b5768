// Indexing: gather, also called embedding, and scatter_add_rows, which is its gradient.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/indexed_rows.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "index";

absl::Status InferGather(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  Shape shape = ctx.shape(1);
  shape.push_back(ctx.shape(0)[1]);
  return ctx.AddResult(DType::F32, shape);
}

absl::Status AdjointGather(AdjointContext& ctx) {
  const int64_t rows = static_cast<int64_t>(ctx.shape(ctx.input(0))[0]);
  OA_ASSIGN_OR_RETURN(const ValueId dtable, ctx.Emit("gather_backward", {ctx.grad(), ctx.input(1)},
                                                     Attributes().I64("rows", rows)));
  ctx.SetGrad(0, dtable);
  return absl::OkStatus();
}

absl::Status LowerGather(LowerContext& ctx) {
  const IndexedRows by = {ctx.in(1), ctx.input_dtype(1), ctx.input_count_of(1),
                          ctx.input_shape(0)[0]};
  return EmitRowGather(ctx, by, ctx.in(0), ctx.input_shape(0)[1], ctx.out());
}

// ---- gather_backward ----

absl::Status InferGatherBackward(InferContext& ctx) {
  const int64_t rows = ctx.attributes().i64("rows");
  if (rows < 0) return ctx.Fail("attribute 'rows' is ", rows, ", must not be negative");
  Shape expected = ctx.shape(1);
  expected.push_back(ctx.shape(0).back());
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, expected));
  return ctx.AddResult(DType::F32, {static_cast<uint64_t>(rows), expected.back()});
}

absl::Status LowerGatherBackward(LowerContext& ctx) {
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  const IndexedRows by = {ctx.in(1), ctx.input_dtype(1), ctx.input_count_of(1),
                          ctx.output_shape()[0]};
  return EmitRowSums(ctx, by, ctx.in(0), ctx.output_shape()[1], ctx.out());
}

// ---- scatter_add_rows ----

absl::Status InferScatterAddRows(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  return InferGatherBackward(ctx);
}

absl::Status AdjointScatterAddRows(AdjointContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ValueId dsource, ctx.Emit("gather", {ctx.grad(), ctx.input(1)}));
  ctx.SetGrad(0, dsource);
  return absl::OkStatus();
}

OpDef ScatterAddRowsRow() {
  OpDef row;
  row.name = "scatter_add_rows";
  row.family = kFamily;
  row.equation =
      "y[i, :] = sum of source[r, :] over the r with indices[r] == i, r increasing; "
      "rows with an index not in [0, rows) are dropped";
  row.shapes = "source [R, D], indices [R], y [rows, D]";
  row.operands = {{.name = "source"},
                  {.name = "indices", .dtypes = Only(DType::U32), .differentiable = false}};
  row.results = {{.name = "y"}};
  row.attributes = {{"rows", AttributeKind::kI64}};
  row.allow_empty = true;
  row.rejects = "source not of rank 2; indices not [R]; a negative number of rows";
  row.kernels = {"index_lists_u32", "gather_backward_f32"};
  row.infer = InferScatterAddRows;
  row.adjoint = AdjointScatterAddRows;
  row.lower = LowerGatherBackward;
  return row;
}

std::vector<OpDef> GatherRows() {
  OpDef row = MakeRow(
      {"gather", kFamily, "y[s, :] = table[indices[s], :]; zeros where the index is not in [0, V)",
       "table [V, D], indices [S], y [S, D]; S any shape"},
      {Operand("table"), DetachedOperand("indices", kIndexTypes)}, {{.name = "y"}});
  row.allow_empty = true;
  row.infer = InferGather;
  row.adjoint = AdjointGather;
  row.rejects = "a table not of rank 2; a result of rank above 8";
  row.notes = "Also called embedding. An index that is out of range has no gradient.";
  row.lower = LowerGather;
  row.kernels = {"gather_u32", "gather_u32x4"};

  OpDef backward =
      BackwardRow(row,
                  {"dtable[v, :] = sum of g[s, :] over the s with indices[s] == v, s increasing",
                   "g [S, D], indices [S], dtable [rows, D]"},
                  {Operand("g"), DetachedOperand("indices", kIndexTypes)}, {{.name = "dtable"}});
  backward.attributes = {IntegerAttribute("rows")};
  backward.infer = InferGatherBackward;
  backward.lower = LowerGatherBackward;
  backward.kernels = {"index_lists_u32", "gather_backward_f32"};
  return {row, backward};
}

}  // namespace

std::vector<OpDef> IndexOps() {
  std::vector<OpDef> rows = GatherRows();
  rows.push_back(ScatterAddRowsRow());
  return rows;
}

}  // namespace oa::ir
