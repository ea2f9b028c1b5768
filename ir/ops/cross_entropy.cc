// Softmax cross entropy with integer labels: a row kernel, a small reduction, and a backward row
// kernel that computes the softmax again instead of keeping it.
#include "ir/ops/cross_entropy.h"

#include <algorithm>
#include <string>

#include "ir/lower.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Rows with at most this many classes get an invocation each instead of a workgroup on GPUs.
constexpr uint64_t kNarrowColumns = 32;
// Bound of the partial results that one workgroup adds up at the end.
constexpr uint64_t kMaxPartials = 4096;

bool IsMasked(const OpDef& op) { return op.attributes[0].name == "valid_count"; }

// ---- Validation ----

absl::Status CheckValidCount(const InferContext& ctx, uint64_t rows) {
  const int64_t count = ctx.attributes().i64("valid_count");
  if (count >= 1 && static_cast<uint64_t>(count) <= rows) return absl::OkStatus();
  return ctx.Fail("attribute 'valid_count' is ", count, ", must be from 1 to the number of rows, ",
                  rows);
}

// logits [R, C] at operand `first`, then labels [R] and, when masked, mask [R].
absl::Status CheckRows(const InferContext& ctx, int first, bool masked) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(first, 2));
  const uint64_t rows = ctx.shape(first)[0];
  OA_RETURN_IF_ERROR(ctx.RequireShape(first + 1, {rows}));
  if (!masked) return absl::OkStatus();
  OA_RETURN_IF_ERROR(ctx.RequireShape(first + 2, {rows}));
  return CheckValidCount(ctx, rows);
}

absl::Status InferCrossEntropy(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRows(ctx, 0, false));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, {1}));
  return ctx.AddResult(DType::U32, {1});
}

absl::Status InferMasked(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRows(ctx, 0, true));
  return ctx.AddResult(DType::F32, {1});
}

// Operands (g [1], logits, labels, rows_counted [1]).
absl::Status InferCrossEntropyBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {1}));
  OA_RETURN_IF_ERROR(CheckRows(ctx, 1, false));
  OA_RETURN_IF_ERROR(ctx.RequireShape(3, {1}));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

// Operands (g [1], logits, labels, mask).
absl::Status InferMaskedBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {1}));
  OA_RETURN_IF_ERROR(CheckRows(ctx, 1, true));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

// ---- Adjoints ----

absl::Status AdjointCrossEntropy(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1), ctx.output(1)});
}

absl::Status AdjointMasked(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1), ctx.input(2)});
}

// ---- Lowering ----

// What both row kernels are told about the rows of a call.
struct Rows {
  bool masked;
  int logits;  // operand positions
  uint64_t rows;
  uint64_t columns;
  uint32_t label_type;
  bool has_ignore = false;  // an ignored label that the label type can hold
  uint32_t ignore = 0;      // its bits
  uint64_t divisor = 0;     // V when the host knows it
  bool narrow;
};

void SetIgnore(int64_t ignored, DType label_type, Rows& rows) {
  const int64_t low = label_type == DType::I32 ? INT32_MIN : 0;
  const int64_t high = label_type == DType::I32   ? INT32_MAX
                       : label_type == DType::U32 ? UINT32_MAX
                                                  : UINT8_MAX;
  rows.has_ignore = ignored >= low && ignored <= high;
  if (rows.has_ignore) rows.ignore = static_cast<uint32_t>(ignored);
}

Rows RowsOf(const LowerContext& ctx, int logits) {
  Rows rows = {.masked = IsMasked(*ctx.node().op), .logits = logits};
  rows.rows = ctx.input_shape(logits)[0];
  rows.columns = ctx.input_shape(logits)[1];
  rows.label_type = static_cast<uint32_t>(ctx.input_dtype(logits + 1));
  rows.narrow = rows.columns <= kNarrowColumns && !ctx.profile().is_cpu;
  if (rows.masked) {
    rows.divisor = static_cast<uint64_t>(ctx.attributes().i64("valid_count"));
  } else if (auto ignored = ctx.attributes().optional("ignore_index")) {
    SetIgnore(*ignored, ctx.input_dtype(logits + 1), rows);
  }
  return rows;
}

absl::StatusOr<const Kernel*> SelectRowKernel(const LowerContext& ctx, const Rows& rows,
                                              const std::string& base) {
  return ctx.Select(rows.narrow ? base + "_narrow" : base);
}

BufferSlice MaskOf(const LowerContext& ctx, const Rows& rows) {
  return rows.masked ? ctx.in(rows.logits + 2) : BufferSlice();
}

KernelCall& SetConstants(KernelCall& call, const Rows& rows) {
  return call.Constant("label_type", rows.label_type)
      .Constant("has_ignore", rows.has_ignore)
      .Constant("masked", rows.masked);
}

// Iterations of a loop over the columns of one row.
uint64_t ColumnIterations(const Rows& rows, const Kernel& kernel) {
  return rows.narrow ? rows.columns : CeilDiv(rows.columns, kernel.local_size[0]) + 1;
}

// Consecutive rows whose losses one workgroup sums: few partial sums, but no more rows than the
// loops of a CPU device allow.
uint64_t RowsPerPartial(const LowerContext& ctx, const Rows& rows, const Kernel& kernel) {
  const uint64_t wanted = CeilDiv(rows.rows, kMaxPartials);
  if (rows.narrow) return std::max<uint64_t>(kernel.local_size[0], wanted);
  if (!ctx.profile().is_cpu) return wanted;
  return std::clamp<uint64_t>(kLoopBudget / (ColumnIterations(rows, kernel) + 2), 1, wanted);
}

absl::Status EmitMean(LowerContext& ctx, const Rows& rows, BufferSlice losses, BufferSlice counts,
                      uint64_t partials) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("cross_entropy_mean_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(1, CeilDiv(partials, kernel->local_size[0]) + 1));
  KernelCall call(kernel);
  call.Buffer(losses).Buffer(counts).Buffer(ctx.out(0));
  call.Buffer(rows.masked ? BufferSlice() : ctx.out(1)).U32(partials).U32(rows.divisor);
  call.Constant("masked", rows.masked).Flops(partials).Grid(groups);
  return ctx.Emit(std::move(call));
}

absl::Status LowerForward(LowerContext& ctx) {
  const Rows rows = RowsOf(ctx, 0);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, SelectRowKernel(ctx, rows, "cross_entropy_f32"));
  const uint64_t per_partial = RowsPerPartial(ctx, rows, *kernel);
  const uint64_t partials = CeilDiv(rows.rows, per_partial);
  OA_ASSIGN_OR_RETURN(
      const uint64_t groups,
      ctx.RowGroups(partials, per_partial * (ColumnIterations(rows, *kernel) + 1) + 1));
  const BufferSlice losses = ctx.Scratch("losses", DType::F32, {partials});
  const BufferSlice counts = ctx.Scratch("counts", DType::U32, {partials});
  KernelCall call(kernel);
  call.Buffer(ctx.in(0)).Buffer(ctx.in(1)).Buffer(MaskOf(ctx, rows)).Buffer(losses).Buffer(counts);
  call.U32(rows.rows).U32(rows.columns).U32(per_partial).U32(rows.ignore);
  SetConstants(call, rows).Flops(12 * rows.rows * rows.columns).Grid(groups);
  OA_RETURN_IF_ERROR(ctx.Emit(std::move(call)));
  return EmitMean(ctx, rows, losses, counts, partials);
}

absl::Status LowerBackward(LowerContext& ctx) {
  const Rows rows = RowsOf(ctx, 1);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      SelectRowKernel(ctx, rows, "cross_entropy_backward_f32"));
  // Two loops over the columns, and two in branches for rows that do not count.
  const uint64_t iterations = 2 * ColumnIterations(rows, *kernel) + 4;
  OA_ASSIGN_OR_RETURN(const uint64_t groups, rows.narrow
                                                 ? ctx.StridedGroups(*kernel, rows.rows, iterations)
                                                 : ctx.RowGroups(rows.rows, iterations));
  KernelCall call(kernel);
  call.Buffer(ctx.in(0)).Buffer(ctx.in(1)).Buffer(ctx.in(2)).Buffer(MaskOf(ctx, rows));
  call.Buffer(rows.masked ? BufferSlice() : ctx.in(3)).Buffer(ctx.out());
  call.U32(rows.rows).U32(rows.columns).U32(rows.ignore).U32(rows.divisor);
  SetConstants(call, rows).Flops(24 * rows.rows * rows.columns).Grid(groups);
  return ctx.Emit(std::move(call));
}

// ---- Rows ----

constexpr char kGradient[] =
    "dlogits = g / V * (softmax(logits) - onehot(labels)) on rows that "
    "count, 0 on others, NaN where the label is outside [0, C)";

void AddCrossEntropy(std::vector<OpDef>& rows) {
  OpDef row = MakeRow({"cross_entropy", "loss",
                       "loss = sum over the V rows with label != ignore_index of "
                       "-log_softmax(logits)[label], / V; 0 when V = 0",
                       "logits [R, C], labels [R], loss [1], rows_counted [1] = V"},
                      {Operand("logits"), DetachedOperand("labels", kIndexTypes)},
                      {{.name = "loss"}, DetachedResult("rows_counted")});
  row.attributes = {{"ignore_index", AttributeKind::kOptionalI64}};
  row.infer = InferCrossEntropy;
  row.rejects = "logits not of rank 2; labels not [R]";
  row.notes =
      "A label outside [0, C) that is not ignored makes the loss and the gradient of its row NaN.";
  row.adjoint = AdjointCrossEntropy;
  row.lower = LowerForward;
  row.kernels = {"cross_entropy_f32", "cross_entropy_f32_narrow", "cross_entropy_mean_f32"};
  rows.push_back(row);

  row = BackwardRow(
      row, {kGradient, "g [1], logits [R, C], labels [R], rows_counted [1] = V, dlogits [R, C]"},
      {Operand("g"), Operand("logits"), DetachedOperand("labels", kIndexTypes),
       Operand("rows_counted", Only(DType::U32))},
      {{.name = "dlogits"}});
  row.infer = InferCrossEntropyBackward;
  row.lower = LowerBackward;
  row.kernels = {"cross_entropy_backward_f32", "cross_entropy_backward_f32_narrow"};
  rows.push_back(std::move(row));
}

void AddMasked(std::vector<OpDef>& rows) {
  OpDef row = MakeRow(
      {"cross_entropy_masked", "loss",
       "loss = sum over the rows with mask != 0 of -log_softmax(logits)[label], / valid_count",
       "logits [R, C], labels [R], mask [R], loss [1]"},
      {Operand("logits"), DetachedOperand("labels", kIndexTypes), DetachedOperand("mask")},
      {{.name = "loss"}});
  row.attributes = {IntegerAttribute("valid_count")};
  row.infer = InferMasked;
  row.rejects = "logits not of rank 2; labels or mask not [R]; valid_count outside 1 to R";
  row.adjoint = AdjointMasked;
  row.lower = LowerForward;
  row.kernels = {"cross_entropy_f32", "cross_entropy_f32_narrow", "cross_entropy_mean_f32"};
  rows.push_back(row);

  std::vector<OperandDef> operands = row.operands;
  operands.insert(operands.begin(), Operand("g"));
  row = BackwardRow(row, {kGradient, "g [1], logits [R, C], labels [R], mask [R], dlogits [R, C]"},
                    std::move(operands), {{.name = "dlogits"}});
  row.infer = InferMaskedBackward;
  row.lower = LowerBackward;
  row.kernels = {"cross_entropy_backward_f32", "cross_entropy_backward_f32_narrow"};
  rows.push_back(std::move(row));
}

}  // namespace

std::vector<OpDef> CrossEntropyOps() {
  std::vector<OpDef> rows;
  AddCrossEntropy(rows);
  AddMasked(rows);
  return rows;
}

}  // namespace oa::ir
