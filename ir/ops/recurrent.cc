// Recurrences: rnn_cell, rnn_scan, gru_cell, gru_scan. The input projection gates_i is an operand,
// so that it is one product over all steps; recurrent_lowering.h has the dispatches.
#include <string>
#include <utility>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/recurrent_lowering.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr uint64_t kMaxHidden = 1024;

enum class Kind { kRnnCell, kRnnScan, kGruCell, kGruScan };
constexpr bool IsGru(Kind kind) { return kind == Kind::kGruCell || kind == Kind::kGruScan; }
constexpr bool IsScan(Kind kind) { return kind == Kind::kRnnScan || kind == Kind::kGruScan; }
constexpr uint64_t Gates(Kind kind) { return IsGru(kind) ? 3 : 1; }

// Position of each operand; -1: there is none.
struct Operands {
  int gates_i = -1, hidden = -1, weight = -1, bias = -1, states = -1, g = -1;
};

constexpr Operands ForwardOperands(Kind kind) {
  if (IsScan(kind)) return {.gates_i = 0, .weight = 1, .bias = 2};
  return {.gates_i = 0, .hidden = 1, .weight = 2, .bias = 3};
}

// The RNN's adjoint needs its result, the GRU's everything that made it.
constexpr Operands BackwardOperands(Kind kind) {
  switch (kind) {
    case Kind::kRnnCell:
      return {.hidden = 1, .weight = 2, .states = 3, .g = 0};
    case Kind::kRnnScan:
      return {.weight = 1, .states = 2, .g = 0};
    case Kind::kGruCell:
      return {.gates_i = 1, .hidden = 2, .weight = 3, .bias = 4, .g = 0};
    case Kind::kGruScan:
      return {.gates_i = 1, .weight = 2, .bias = 3, .states = 4, .g = 0};
  }
  return {};
}

// ---- Validation ----

// [batch, columns], or [batch, steps, columns] of a scan, with the extents of operand `like`.
Shape WithColumns(const InferContext& ctx, int like, uint64_t columns) {
  Shape shape = ctx.shape(like);
  shape.back() = columns;
  return shape;
}

// The extents of all operands `at` against operand `like`, which is [batch, (steps,) columns], and
// the weight [gates * hidden, hidden].
absl::Status CheckExtents(const InferContext& ctx, Kind kind, const Operands& at, int like) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(like, IsScan(kind) ? 3 : 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(at.weight, 2));
  const uint64_t hidden = ctx.shape(at.weight)[1];
  if (hidden > kMaxHidden) {
    return ctx.Fail("has a hidden size of ", hidden, ", the limit is ", kMaxHidden);
  }
  const uint64_t width = Gates(kind) * hidden;
  OA_RETURN_IF_ERROR(ctx.RequireShape(at.weight, {width, hidden}));
  for (int i : {at.hidden, at.states, at.g}) {
    if (i >= 0) OA_RETURN_IF_ERROR(ctx.RequireShape(i, WithColumns(ctx, like, hidden)));
  }
  if (at.gates_i >= 0) {
    OA_RETURN_IF_ERROR(ctx.RequireShape(at.gates_i, WithColumns(ctx, like, width)));
  }
  if (at.bias < 0 || !ctx.has(at.bias)) return absl::OkStatus();
  return ctx.RequireShape(at.bias, {width});
}

template <Kind kKind>
absl::Status Infer(InferContext& ctx) {
  constexpr Operands kAt = ForwardOperands(kKind);
  OA_RETURN_IF_ERROR(CheckExtents(ctx, kKind, kAt, kAt.gates_i));
  return ctx.AddResult(DType::F32, WithColumns(ctx, kAt.gates_i, ctx.shape(kAt.weight)[1]));
}

// The bias gradient is declared either way; without a bias nobody asks for it.
template <Kind kKind>
absl::Status InferBackward(InferContext& ctx) {
  constexpr Operands kAt = BackwardOperands(kKind);
  OA_RETURN_IF_ERROR(CheckExtents(ctx, kKind, kAt, kAt.g));
  const Shape weight = ctx.shape(kAt.weight);
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, WithColumns(ctx, kAt.g, weight[0])));
  if (!IsScan(kKind)) OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(kAt.g)));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, weight));
  return ctx.AddResult(DType::F32, {weight[0]});
}

// ---- Adjoint ----

template <Kind kKind>
absl::Status Adjoint(AdjointContext& ctx) {
  constexpr Operands kFrom = ForwardOperands(kKind), kAt = BackwardOperands(kKind);
  std::vector<ValueId> inputs(IsScan(kKind) && !IsGru(kKind) ? 3 : IsGru(kKind) ? 5 : 4);
  const auto pass = [&](int at, ValueId value) {
    if (at >= 0) inputs[static_cast<size_t>(at)] = value;
  };
  pass(kAt.g, ctx.grad());
  pass(kAt.gates_i, ctx.input(kFrom.gates_i));
  if (kFrom.hidden >= 0) pass(kAt.hidden, ctx.input(kFrom.hidden));
  pass(kAt.weight, ctx.input(kFrom.weight));
  pass(kAt.bias, ctx.input(kFrom.bias));
  pass(kAt.states, ctx.output());
  return ctx.EmitBackward(inputs);
}

// ---- Lowering ----

BufferSlice InputAt(const LowerContext& ctx, int i) {
  return i >= 0 ? ctx.in_or_null(i) : BufferSlice();
}

Recurrence Describe(const LowerContext& ctx, Kind kind, const Operands& at, int like) {
  const Shape& shape = ctx.input_shape(like);
  Recurrence r;
  r.gru = IsGru(kind);
  r.batch = shape[0];
  r.steps = IsScan(kind) ? shape[1] : 1;
  r.hidden = ctx.input_shape(at.weight)[1];
  r.gates_i = InputAt(ctx, at.gates_i);
  r.initial = InputAt(ctx, at.hidden);
  r.weight = ctx.in(at.weight);
  r.bias = InputAt(ctx, at.bias);
  r.states = InputAt(ctx, at.states);
  return r;
}

template <Kind kKind>
absl::Status Lower(LowerContext& ctx) {
  constexpr Operands kAt = ForwardOperands(kKind);
  Recurrence r = Describe(ctx, kKind, kAt, kAt.gates_i);
  r.states = ctx.out();
  return IsScan(kKind) ? EmitScan(ctx, r) : EmitCell(ctx, r);
}

template <Kind kKind>
absl::Status LowerBackward(LowerContext& ctx) {
  constexpr Operands kAt = BackwardOperands(kKind);
  const Recurrence r = Describe(ctx, kKind, kAt, kAt.g);
  RecurrenceGradients d;
  int result = 0;
  d.g = ctx.in(kAt.g);
  d.gates_i = ctx.out_or_null(result++);
  if (!IsScan(kKind)) d.initial = ctx.out_or_null(result++);
  d.weight = ctx.out_or_null(result++);
  d.bias = ctx.out_or_null(result++);
  return IsScan(kKind) ? EmitScanBackward(ctx, r, d) : EmitCellBackward(ctx, r, d);
}

// ---- Rows ----

struct Texts {
  const char* name;
  const char* equation;
  const char* shapes;
  const char* backward_equation;
};

constexpr char kRnnBackward[] =
    "a = g * (1 - y^2): dgates_i = a, dhidden = a @ weight_hh, dweight_hh = a^T @ hidden, "
    "dbias_hh = sum of a";
constexpr char kGruBackward[] =
    "a_n = g * (1 - z) * (1 - n^2), a_z = g * (h - n) * z * (1 - z), a_r = a_n * p_n * r * (1 - r):"
    " dgates_i = [a_r, a_z, a_n], dp = [a_r, a_z, a_n * r], dhidden = g * z + dp @ weight_hh, "
    "dweight_hh = dp^T @ hidden, dbias_hh = sum of dp";
constexpr char kRnnScanBackward[] =
    "rnn_cell_backward at t = S-1 .. 0 with dhidden of step t added to g[:, t-1]";
constexpr char kGruScanBackward[] =
    "gru_cell_backward at t = S-1 .. 0 with dhidden of step t added to g[:, t-1]";

constexpr Texts kTexts[] = {
    {"rnn_cell", "y = tanh(gates_i + weight_hh @ hidden + bias_hh)",
     "gates_i [B, H], hidden [B, H], weight_hh [H, H], bias_hh [H], y [B, H]; H <= 1024",
     kRnnBackward},
    {"rnn_scan", "y[:, t] = rnn_cell(gates_i[:, t], y[:, t-1]), from 0",
     "gates_i [B, S, H], weight_hh [H, H], bias_hh [H], y [B, S, H]; H <= 1024", kRnnScanBackward},
    {"gru_cell",
     "p = weight_hh @ hidden + bias_hh; r = sig(i_r + p_r), z = sig(i_z + p_z), "
     "n = tanh(i_n + r * p_n), y = (1 - z) * n + z * hidden",
     "gates_i [B, 3H] = r, z, n; hidden [B, H], weight_hh [3H, H], bias_hh [3H], y [B, H]; "
     "H <= 1024",
     kGruBackward},
    {"gru_scan", "y[:, t] = gru_cell(gates_i[:, t], y[:, t-1]), from 0",
     "gates_i [B, S, 3H] = r, z, n; weight_hh [3H, H], bias_hh [3H], y [B, S, H]; H <= 1024",
     kGruScanBackward},
};

template <Kind kKind>
OpDef ForwardRow() {
  const Texts& texts = kTexts[static_cast<int>(kKind)];
  std::vector<OperandDef> operands = {Operand("gates_i")};
  if (!IsScan(kKind)) operands.push_back(Operand("hidden"));
  operands.push_back(Operand("weight_hh"));
  operands.push_back(OptionalOperand("bias_hh"));
  OpDef row = MakeRow({texts.name, "recurrent", texts.equation, texts.shapes}, std::move(operands),
                      {{.name = "y"}});
  row.rejects =
      "operands whose ranks or extents do not fit each other as above; a hidden size above 1024";
  row.notes = "gates_i is the projection of the input, with its bias; an absent bias_hh is 0.";
  row.kernels = IsScan(kKind) ? ScanKernels() : CellKernels();
  if (IsScan(kKind)) row.routes = ScanRoutes();
  row.infer = Infer<kKind>;
  row.adjoint = Adjoint<kKind>;
  row.lower = Lower<kKind>;
  return row;
}

template <Kind kKind>
OpDef AdjointRow(const OpDef& forward) {
  constexpr Operands kAt = BackwardOperands(kKind);
  const Texts& texts = kTexts[static_cast<int>(kKind)];
  std::vector<OperandDef> operands = {Operand("g")};
  if (kAt.gates_i >= 0) operands.push_back(Operand("gates_i"));
  if (kAt.hidden >= 0) operands.push_back(Operand("hidden"));
  operands.push_back(Operand("weight_hh"));
  if (kAt.bias >= 0) operands.push_back(OptionalOperand("bias_hh"));
  if (kAt.states >= 0) operands.push_back(Operand("y"));
  OpDef row = BackwardRow(
      forward,
      {texts.backward_equation, "g like y; " + forward.shapes + "; results like the operands"},
      std::move(operands),
      IsScan(kKind) ? OptionalResults({"dgates_i", "dweight_hh", "dbias_hh"})
                    : OptionalResults({"dgates_i", "dhidden", "dweight_hh", "dbias_hh"}));
  row.kernels = IsScan(kKind) ? ScanBackwardKernels() : CellBackwardKernels();
  row.infer = InferBackward<kKind>;
  row.lower = LowerBackward<kKind>;
  return row;
}

template <Kind kKind>
void AddRows(std::vector<OpDef>& rows) {
  const OpDef forward = ForwardRow<kKind>();
  rows.push_back(forward);
  rows.push_back(AdjointRow<kKind>(forward));
}

}  // namespace

std::vector<OpDef> RecurrentOps() {
  std::vector<OpDef> rows;
  AddRows<Kind::kRnnCell>(rows);
  AddRows<Kind::kRnnScan>(rows);
  AddRows<Kind::kGruCell>(rows);
  AddRows<Kind::kGruScan>(rows);
  return rows;
}

}  // namespace oa::ir
