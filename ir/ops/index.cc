// Indexing: gather, also called embedding, and scatter_add_rows, which is its gradient.
#include <algorithm>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "index";

// The constant `index_type` of index.glsl.
uint32_t IndexType(DType dtype) {
  switch (dtype) {
    case DType::U8:
      return 0;
    case DType::U32:
      return 1;
    default:
      return 2;
  }
}

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
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  const Shape& table = ctx.input_shape(0);
  const uint64_t unit = table[1] % 4 == 0 ? 4 : 1;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select(unit == 4 ? "gather_u32x4" : "gather_u32"));
  const uint64_t groups = ctx.StridedGroups(*kernel, ctx.output_count_of() / unit);
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.in(1))
                      .Buffer(ctx.out())
                      .U32(table[0])
                      .U32(table[1] / unit)
                      .U32(ctx.input_count_of(1))
                      .Constant("index_type", IndexType(ctx.input_dtype(1)))
                      .Grid(groups));
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

// kColumns of gather_backward.comp.
constexpr uint64_t kColumnsPerInvocation = 4;

// kRows of index_lists.comp.
constexpr uint64_t kRowsPerListGroup = 1024;

// Every workgroup of the scan reads all indices: fine up to this many rows times indices.
uint64_t LargestScan(const DeviceProfile& profile) {
  return uint64_t{1} << (profile.is_cpu ? 15 : 22);
}

// Which positions belong to which row: kernels/index/index_lists.comp.
struct IndexLists {
  BufferSlice ends;
  BufferSlice order;
};

absl::StatusOr<IndexLists> EmitIndexLists(LowerContext& ctx) {
  const uint64_t rows = ctx.output_shape()[0], count = ctx.input_count_of(1);
  const IndexLists lists = {ctx.Scratch("ends", DType::U32, {rows}),
                            ctx.Scratch("order", DType::U32, {count})};
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("index_lists_u32"));
  const uint64_t ranges = CeilDiv(rows, kRowsPerListGroup);
  const uint64_t lanes = kernel->local_size[0];
  // Two passes over the indices, four a lane at a time, and three over the rows.
  const uint64_t iterations = count / (2 * lanes) + 3 * kRowsPerListGroup / lanes + 8;
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(ranges, iterations));
  OA_RETURN_IF_ERROR(ctx.Emit(KernelCall(kernel)
                                  .Buffer(ctx.in(1))
                                  .Buffer(lists.ends)
                                  .Buffer(lists.order)
                                  .U32(count)
                                  .U32(rows)
                                  .Constant("index_type", IndexType(ctx.input_dtype(1)))
                                  .Grid(groups)));
  return lists;
}

// Workgroups of gather_backward.comp for `parts` of rows, `tiles` a row.
absl::StatusOr<uint64_t> SumGroups(LowerContext& ctx, const Kernel& kernel, uint64_t parts,
                                   uint64_t tiles, bool use_lists) {
  const uint64_t count = ctx.input_count_of(1);
  if (use_lists && kernel.device == KernelDevice::kCpu) {
    // All lists together have `count` positions, read eight at a time; at worst they are one row's.
    OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(parts, 2, count / 8));
    return std::max(groups, tiles);
  }
  // The scan looks at the indices and then at each position it found.
  return ctx.RowGroups(parts, count + count / 4 + 300);
}

absl::Status LowerGatherBackward(LowerContext& ctx) {
  if (ctx.output_count_of() == 0) return absl::OkStatus();
  const uint64_t rows = ctx.output_shape()[0], columns = ctx.output_shape()[1];
  const uint64_t count = ctx.input_count_of(1);
  // At most (2^32 - 1)^2.
  const bool use_lists = rows * count > LargestScan(ctx.profile());
  IndexLists lists;
  if (use_lists) {
    OA_ASSIGN_OR_RETURN(lists, EmitIndexLists(ctx));
  }
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("gather_backward_f32"));
  const uint64_t tiles = CeilDiv(columns, kColumnsPerInvocation * kernel->local_size[0]);
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      SumGroups(ctx, *kernel, rows * tiles, tiles, use_lists));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.in(1))
                      .Buffer(lists.ends)
                      .Buffer(lists.order)
                      .Buffer(ctx.out())
                      .U32(count)
                      .U32(rows)
                      .U32(columns)
                      .Constant("index_type", IndexType(ctx.input_dtype(1)))
                      .Constant("use_lists", use_lists ? 1 : 0)
                      .Flops(count * columns)
                      .Grid(groups));
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
