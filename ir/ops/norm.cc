// Normalisations along one axis: rms_norm, rms_norm_gated, layer_norm, channel_norm and
// channel_norm_relu share one forward and one backward kernel (kernels/norm/columns.glsl).
#include "ir/ops/norm.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ir/ops/column_tiling.h"
#include "ir/ops/families.h"
#include "ir/ops/matmul.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr uint64_t kMaxChannels = 1024;

// ---- Validation ----

// x [.., N] at operand `x`, vectors [N] right behind it.
absl::Status CheckRows(const InferContext& ctx, int x, int vectors) {
  for (int i = 1; i <= vectors; ++i) {
    OA_RETURN_IF_ERROR(ctx.RequireShape(x + i, {ctx.shape(x).back()}));
  }
  return ctx.RequireEpsilon();
}

// x [B, C, T] at operand 0, vectors [C] right behind it.
absl::Status CheckChannels(const InferContext& ctx, int vectors) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 3));
  const uint64_t channels = ctx.shape(0)[1];
  if (channels > kMaxChannels) {
    return ctx.Fail("has ", channels, " channels, the limit is ", kMaxChannels);
  }
  for (int i = 1; i <= vectors; ++i) OA_RETURN_IF_ERROR(ctx.RequireShape(i, {channels}));
  return ctx.RequireEpsilon();
}

uint64_t Rows(const Shape& shape) {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

// (x, weight, bias or absent, gate).
absl::Status CheckGated(const InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(3, 0));
  const uint64_t columns = ctx.shape(0).back();
  if (ctx.shape(1).back() != columns) {
    return ctx.Fail("the last extent of weight ", ShapeText(ctx.shape(1)), " must be ", columns);
  }
  const uint64_t rows = Rows(ctx.shape(0)), groups = Rows(ctx.shape(1));
  if (rows % groups != 0) {
    return ctx.Fail("has ", rows, " rows, which ", groups, " groups of weights do not divide");
  }
  if (ctx.has(2)) OA_RETURN_IF_ERROR(ctx.RequireSameShape(2, 1));
  return ctx.RequireEpsilon();
}

// Results shaped like the given operands.
absl::Status AddLike(InferContext& ctx, std::initializer_list<int> operands) {
  for (int i : operands) OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(i)));
  return absl::OkStatus();
}

template <int kVectors>
absl::Status InferRows(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRows(ctx, 0, kVectors));
  return AddLike(ctx, {0});
}

// (g, x, weight).
absl::Status CheckRowsBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(0, 1));
  return CheckRows(ctx, 1, 1);
}

absl::Status InferRmsBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRowsBackward(ctx));
  return AddLike(ctx, {1, 2});
}

absl::Status InferLayerBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckRowsBackward(ctx));
  return AddLike(ctx, {1, 2, 2});
}

absl::Status InferChannels(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckChannels(ctx, 2));
  return AddLike(ctx, {0});
}

// (x, weight, g), or (x, weight, y, g) of the rectified form.
absl::Status InferChannelsBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckChannels(ctx, 1));
  for (int i = 2; i < ctx.operand_count(); ++i) OA_RETURN_IF_ERROR(ctx.RequireSameShape(i, 0));
  return AddLike(ctx, {0, 1, 1});
}

absl::Status InferGated(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckGated(ctx));
  return AddLike(ctx, {0});
}

// (x, weight, bias or absent, gate, g). The bias gradient is declared either way, so that results
// keep their places; without a bias nobody asks for it.
absl::Status InferGatedBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckGated(ctx));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(4, 0));
  return AddLike(ctx, {0, 1, 1, 3});
}

// ---- Adjoints ----

absl::Status AdjointRows(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1)});
}

absl::Status AdjointChannels(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.input(0), ctx.input(1), ctx.grad()});
}

absl::Status AdjointChannelsRelu(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.input(0), ctx.input(1), ctx.output(), ctx.grad()});
}

absl::Status AdjointGated(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3), ctx.grad()});
}

// ---- Lowering ----

// A call of either kernel; buffers that an operator does not have stay empty.
struct Norm {
  AxisShape shape;
  uint64_t groups = 1;
  bool centred = false;
  BufferSlice x, weight, bias, gate;
  BufferSlice y, g;  // forward: the result; backward: the output of a rectified form
  bool rectified = false;
  BufferSlice dx, dgate, weight_terms, bias_terms, means, rests, rstds;
};

bool Present(const BufferSlice& slice) { return slice.size_bytes != 0; }

void SetConstants(KernelCall& call, const Norm& norm, const ColumnTiling& tiling) {
  call.Constant("width", tiling.width)
      .Constant("mode", tiling.mode)
      .Constant("centred", norm.centred)
      .Constant("has_bias", Present(norm.bias))
      .Constant("gated", Present(norm.gate))
      .Constant("rectified", norm.rectified);
}

// The kernel reads a column `passes` times.
absl::Status SetShape(LowerContext& ctx, KernelCall& call, const Norm& norm,
                      const ColumnTiling& tiling, uint64_t passes) {
  const uint64_t iterations = passes * (tiling.blocks(norm.shape.extent) + 1);
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(tiling.tiles(norm.shape), iterations));
  call.U32(norm.shape.outer).U32(norm.shape.extent).U32(norm.shape.inner).U32(norm.groups);
  call.F32(ctx.attributes().f32("epsilon")).Grid(groups);
  return absl::OkStatus();
}

absl::Status EmitNorm(LowerContext& ctx, const Norm& norm) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("norm_f32"));
  const ColumnTiling tiling = ChooseTiling(*kernel, norm.shape);
  KernelCall call(kernel);
  call.Buffer(norm.weight).Buffer(norm.bias).Buffer(norm.gate);
  call.Prologue(norm.x).Epilogue(norm.y);
  SetConstants(call, norm, tiling);
  OA_RETURN_IF_ERROR(SetShape(ctx, call, norm, tiling, norm.centred ? 3 : 2));
  call.Flops((Present(norm.gate) ? 30 : 8) * norm.shape.columns() * norm.shape.extent);
  return ctx.Emit(std::move(call));
}

absl::Status EmitNormBackward(LowerContext& ctx, const Norm& norm) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("norm_backward_f32"));
  const ColumnTiling tiling = ChooseTiling(*kernel, norm.shape);
  KernelCall call(kernel);
  call.Buffer(norm.x).Buffer(norm.weight).Buffer(norm.bias).Buffer(norm.gate).Buffer(norm.y);
  call.Buffer(norm.g).Buffer(norm.dx).Buffer(norm.dgate).Buffer(norm.weight_terms);
  call.Buffer(norm.bias_terms).Buffer(norm.means).Buffer(norm.rests).Buffer(norm.rstds);
  SetConstants(call, norm, tiling);
  call.Constant("want_dx", Present(norm.dx))
      .Constant("want_dgate", Present(norm.dgate))
      .Constant("want_weight_terms", Present(norm.weight_terms))
      .Constant("want_bias_terms", Present(norm.bias_terms))
      .Constant("want_statistics", Present(norm.means));
  OA_RETURN_IF_ERROR(SetShape(ctx, call, norm, tiling, norm.centred ? 4 : 3));
  call.Flops((Present(norm.gate) ? 60 : 16) * norm.shape.columns() * norm.shape.extent);
  return ctx.Emit(std::move(call));
}

AxisShape LastAxis(const Shape& shape) {
  return AroundAxis(shape, static_cast<int64_t>(shape.size()) - 1);
}

template <bool kCentred>
absl::Status LowerRows(LowerContext& ctx) {
  Norm norm = {.shape = LastAxis(ctx.input_shape(0)), .centred = kCentred};
  norm.x = ctx.in(0);
  norm.weight = ctx.in(1);
  if (kCentred) norm.bias = ctx.in(2);
  norm.y = ctx.out();
  return EmitNorm(ctx, norm);
}

absl::Status LowerGated(LowerContext& ctx) {
  Norm norm = {.shape = LastAxis(ctx.input_shape(0)), .groups = Rows(ctx.input_shape(1))};
  norm.x = ctx.in(0);
  norm.weight = ctx.in(1);
  norm.bias = ctx.in_or_null(2);
  norm.gate = ctx.in(3);
  norm.y = ctx.out();
  return EmitNorm(ctx, norm);
}

template <bool kRectified>
absl::Status LowerChannels(LowerContext& ctx) {
  Norm norm = {.shape = AroundAxis(ctx.input_shape(0), 1), .centred = true};
  norm.x = ctx.in(0);
  norm.weight = ctx.in(1);
  norm.bias = ctx.in(2);
  norm.y = ctx.out();
  norm.rectified = kRectified;
  return EmitNorm(ctx, norm);
}

// The rows of each group's terms, added up.
absl::Status SumTerms(LowerContext& ctx, const Norm& norm, BufferSlice terms, int result) {
  return EmitColumnSum(ctx, terms, norm.shape.outer / norm.groups, norm.groups * norm.shape.extent,
                       ctx.out(result));
}

BufferSlice WeightTerms(LowerContext& ctx, const Norm& norm) {
  if (!ctx.has_output(1)) return BufferSlice();
  return ctx.Scratch("weight_terms", DType::F32, {norm.shape.outer, norm.shape.extent});
}

// (g, x, weight) -> (dx, dweight[, dbias]); dbias is the column sum of g itself.
template <bool kCentred>
absl::Status LowerRowsBackward(LowerContext& ctx) {
  Norm norm = {.shape = LastAxis(ctx.input_shape(1)), .centred = kCentred};
  norm.g = ctx.in(0);
  norm.x = ctx.in(1);
  norm.weight = ctx.in(2);
  norm.dx = ctx.out_or_null(0);
  norm.weight_terms = WeightTerms(ctx, norm);
  if (Present(norm.dx) || Present(norm.weight_terms)) {
    OA_RETURN_IF_ERROR(EmitNormBackward(ctx, norm));
  }
  if (ctx.has_output(1)) OA_RETURN_IF_ERROR(SumTerms(ctx, norm, norm.weight_terms, 1));
  if (!kCentred || !ctx.has_output(2)) return absl::OkStatus();
  return SumTerms(ctx, norm, norm.g, 2);
}

absl::Status LowerGatedBackward(LowerContext& ctx) {
  Norm norm = {.shape = LastAxis(ctx.input_shape(0)), .groups = Rows(ctx.input_shape(1))};
  norm.x = ctx.in(0);
  norm.weight = ctx.in(1);
  norm.bias = ctx.in_or_null(2);
  norm.gate = ctx.in(3);
  norm.g = ctx.in(4);
  norm.dx = ctx.out_or_null(0);
  norm.weight_terms = WeightTerms(ctx, norm);
  if (ctx.has_output(2)) {
    norm.bias_terms = ctx.Scratch("bias_terms", DType::F32, {norm.shape.outer, norm.shape.extent});
  }
  norm.dgate = ctx.out_or_null(3);
  OA_RETURN_IF_ERROR(EmitNormBackward(ctx, norm));
  if (ctx.has_output(1)) OA_RETURN_IF_ERROR(SumTerms(ctx, norm, norm.weight_terms, 1));
  return ctx.has_output(2) ? SumTerms(ctx, norm, norm.bias_terms, 2) : absl::OkStatus();
}

// (x, weight[, y], g) -> (dx, dweight, dbias).
absl::Status LowerChannelsBackward(LowerContext& ctx) {
  const int g = ctx.input_count() - 1;
  Norm norm = {.shape = AroundAxis(ctx.input_shape(0), 1), .centred = true};
  norm.x = ctx.in(0);
  norm.weight = ctx.in(1);
  norm.g = ctx.in(g);
  norm.rectified = g == 3;
  if (norm.rectified) norm.y = ctx.in(2);
  norm.dx = ctx.out_or_null(0);
  norm.means = ctx.Scratch("means", DType::F32, {norm.shape.columns()});
  norm.rests = ctx.Scratch("rests", DType::F32, {norm.shape.columns()});
  norm.rstds = ctx.Scratch("rstds", DType::F32, {norm.shape.columns()});
  OA_RETURN_IF_ERROR(EmitNormBackward(ctx, norm));
  ChannelSums sums = {.x = norm.x,
                      .g = norm.g,
                      .y = norm.y,
                      .mean = norm.means,
                      .spread = norm.rstds,
                      .rest = norm.rests,
                      .per_position = true};
  sums.batch = norm.shape.outer;
  sums.channels = norm.shape.extent;
  sums.positions = norm.shape.inner;
  sums.dweight = ctx.out_or_null(1);
  sums.dbias = ctx.out_or_null(2);
  return EmitChannelSums(ctx, sums);
}

// ---- Rows ----

OpDef Row(const char* name, const char* equation, const char* shapes,
          std::vector<OperandDef> operands, absl::Status (*infer)(InferContext&),
          absl::Status (*lower)(LowerContext&)) {
  OpDef row = MakeRow({name, "norm", equation, shapes}, std::move(operands), {{.name = "y"}});
  row.attributes = {RealAttribute("epsilon")};
  row.infer = infer;
  row.lower = lower;
  return row;
}

OpDef Forward(OpDef row, absl::Status (*adjoint)(AdjointContext&), const char* rejects) {
  row.rejects = absl::StrCat(rejects, "; epsilon not finite or not above 0");
  row.kernels = {"norm_f32"};
  row.adjoint = adjoint;
  return row;
}

OpDef Backward(OpDef row, const char* sum_kernel, std::initializer_list<const char*> results) {
  row.kernels = {"norm_backward_f32", sum_kernel};
  row.results = OptionalResults(results);
  return row;
}

void AddRowNorms(std::vector<OpDef>& rows) {
  rows.push_back(
      Forward(Row("rms_norm", "y = x * r * weight, r = 1 / sqrt(mean(x^2) + epsilon) of each row",
                  "x [.., N], weight [N], y [.., N]", {{.name = "x"}, {.name = "weight"}},
                  InferRows<1>, LowerRows<false>),
              AdjointRows, "weight not [N]"));
  rows.push_back(Backward(
      Row("rms_norm_backward",
          "dx = r * (g * weight - x * r^2 * mean(g * weight * x)), dweight = sum of g * x * r",
          "g, x [.., N], weight [N], dx [.., N], dweight [N]",
          {{.name = "g"}, {.name = "x"}, {.name = "weight"}}, InferRmsBackward,
          LowerRowsBackward<false>),
      "column_sum_f32", {"dx", "dweight"}));
  rows.push_back(Forward(
      Row("layer_norm",
          "y = (x - mean(x)) * rstd * weight + bias, rstd = 1 / sqrt(var(x) + epsilon) of each row",
          "x [.., N], weight [N], bias [N], y [.., N]",
          {{.name = "x"}, {.name = "weight"}, {.name = "bias"}}, InferRows<2>, LowerRows<true>),
      AdjointRows, "weight or bias not [N]"));
  rows.push_back(Backward(
      Row("layer_norm_backward",
          "dx = rstd * (e - mean(e) - xhat * mean(e * xhat)), e = g * weight; dweight = sum of "
          "g * xhat, dbias = sum of g",
          "g, x [.., N], weight [N], dx [.., N], dweight [N], dbias [N]",
          {{.name = "g"}, {.name = "x"}, {.name = "weight"}}, InferLayerBackward,
          LowerRowsBackward<true>),
      "column_sum_f32", {"dx", "dweight", "dbias"}));
}

void AddGated(std::vector<OpDef>& rows) {
  std::vector<OperandDef> operands = {
      {.name = "x"}, {.name = "weight"}, {.name = "bias", .optional = true}, {.name = "gate"}};
  rows.push_back(
      Forward(Row("rms_norm_gated",
                  "y = (x * r * weight[q mod G] + bias[q mod G]) * silu(gate) in row q, r = 1 / "
                  "sqrt(mean(x^2) + epsilon)",
                  "x, gate, y [.., N], weight [.., N] of G rows, bias like weight or absent",
                  operands, InferGated, LowerGated),
              AdjointGated,
              "a gate not shaped like x; a weight whose last extent is not N or whose rows do not "
              "divide those of x; a bias not shaped like the weight"));
  operands.push_back({.name = "g"});
  rows.push_back(Backward(
      Row("rms_norm_gated_backward",
          "with dm = g * silu(gate): dx = r * (dm * weight - x * r^2 * mean(dm * weight * x)), "
          "dgate = g * m * silu'(gate), dweight, dbias = sums of dm * x * r and dm by group",
          "x, gate, g, dx, dgate [.., N], weight, bias, dweight, dbias [.., N] of G rows",
          std::move(operands), InferGatedBackward, LowerGatedBackward),
      "column_sum_f32", {"dx", "dweight", "dbias", "dgate"}));
}

void AddChannelNorms(std::vector<OpDef>& rows) {
  const std::vector<OperandDef> operands = {{.name = "x"}, {.name = "weight"}, {.name = "bias"}};
  constexpr char kShapes[] = "x, y [B, C, T], weight, bias [C]; C <= 1024";
  constexpr char kRejects[] = "x not of rank 3; more than 1024 channels; weight or bias not [C]";
  constexpr char kBackwardShapes[] = "x, g, dx [B, C, T], weight, dweight, dbias [C]";
  rows.push_back(Forward(Row("channel_norm",
                             "y = (x - mean(x)) * rstd * weight + bias over the channels of each "
                             "(b, t), rstd = 1 / sqrt(var(x) + epsilon)",
                             kShapes, operands, InferChannels, LowerChannels<false>),
                         AdjointChannels, kRejects));
  rows.push_back(Forward(Row("channel_norm_relu", "y = max(channel_norm(x), 0)", kShapes, operands,
                             InferChannels, LowerChannels<true>),
                         AdjointChannelsRelu, kRejects));
  rows.push_back(Backward(
      Row("channel_norm_backward",
          "dx = rstd * (e - mean(e) - xhat * mean(e * xhat)), e = g * weight; dweight = sum of "
          "g * xhat, dbias = sum of g",
          kBackwardShapes, {{.name = "x"}, {.name = "weight"}, {.name = "g"}},
          InferChannelsBackward, LowerChannelsBackward),
      "channel_sums_f32", {"dx", "dweight", "dbias"}));
  rows.push_back(
      Backward(Row("channel_norm_relu_backward", "channel_norm_backward of (y > 0 ? g : 0)",
                   "x, y, g, dx [B, C, T], weight, dweight, dbias [C]",
                   {{.name = "x"}, {.name = "weight"}, {.name = "y"}, {.name = "g"}},
                   InferChannelsBackward, LowerChannelsBackward),
               "channel_sums_f32", {"dx", "dweight", "dbias"}));
}

}  // namespace

absl::Status EmitChannelSums(LowerContext& ctx, const ChannelSums& sums) {
  if (!Present(sums.dweight) && !Present(sums.dbias)) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("channel_sums_f32"));
  const uint64_t count = sums.batch * sums.positions;
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(sums.channels, CeilDiv(count, kernel->local_size[0]) + 1));
  KernelCall call(kernel);
  call.Buffer(sums.x).Buffer(sums.y).Buffer(sums.g).Buffer(sums.mean).Buffer(sums.rest);
  call.Buffer(sums.spread).Buffer(sums.dweight).Buffer(sums.dbias);
  call.U32(sums.batch).U32(sums.channels).U32(sums.positions);
  call.F32(ctx.attributes().f32("epsilon"));
  call.Constant("per_position", sums.per_position)
      .Constant("rectified", Present(sums.y))
      .Constant("want_dweight", Present(sums.dweight))
      .Constant("want_dbias", Present(sums.dbias));
  call.Flops(5 * count * sums.channels).Grid(groups);
  return ctx.Emit(std::move(call));
}

std::vector<OpDef> NormOps() {
  std::vector<OpDef> rows = BatchNormOps();
  AddRowNorms(rows);
  AddGated(rows);
  AddChannelNorms(rows);
  return rows;
}

}  // namespace oa::ir
