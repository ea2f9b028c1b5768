// batch_norm_2d, which takes its statistics from the batch, and batch_norm_2d_with_stats, which is
// given them; a part of the norm family.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/norm.h"
#include "ir/ops/rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// ---- Validation ----

// x [N, C, H, W] at operand `x`, vectors [C] right behind it.
absl::Status CheckImages(const InferContext& ctx, int x, int vectors) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(x, 4));
  const uint64_t channels = ctx.shape(x)[1];
  for (int i = 1; i <= vectors; ++i) OA_RETURN_IF_ERROR(ctx.RequireShape(x + i, {channels}));
  return ctx.RequireEpsilon();
}

absl::Status InferTraining(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckImages(ctx, 0, 2));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(0)));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(1)));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

absl::Status InferWithStats(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckImages(ctx, 0, 4));
  return ctx.AddResult(DType::F32, ctx.shape(0));
}

// Operands (g, x, mean, variance, weight).
absl::Status InferBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(0, 1));
  OA_RETURN_IF_ERROR(CheckImages(ctx, 1, 3));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(1)));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(4)));
  return ctx.AddResult(DType::F32, ctx.shape(4));
}

// ---- Adjoints ----

absl::Status AdjointTraining(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.output(1), ctx.output(2), ctx.input(1)});
}

absl::Status AdjointWithStats(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3)});
}

// ---- Lowering ----

struct Images {
  uint64_t batch, channels, positions;
  uint64_t count() const { return batch * channels * positions; }
};

Images ImagesOf(const Shape& shape) { return {shape[0], shape[1], shape[2] * shape[3]}; }

absl::Status EmitStatistics(LowerContext& ctx, const Images& images) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("channel_statistics_f32"));
  const uint64_t pass = CeilDiv(images.batch * images.positions, kernel->local_size[0]) + 1;
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(images.channels, 2 * pass));
  KernelCall call(kernel);
  call.Buffer(ctx.in(0)).Buffer(ctx.out(1)).Buffer(ctx.out(2));
  call.U32(images.batch).U32(images.channels).U32(images.positions);
  call.Flops(4 * images.count()).Grid(groups);
  return ctx.Emit(std::move(call));
}

absl::Status EmitNormalise(LowerContext& ctx, const Images& images, BufferSlice mean,
                           BufferSlice variance, BufferSlice weight, BufferSlice bias) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("batch_norm_f32"));
  KernelCall call(kernel);
  call.Buffer(ctx.in(0)).Buffer(mean).Buffer(variance).Buffer(weight).Buffer(bias);
  call.Epilogue(ctx.out(0));
  call.U32(images.batch).U32(images.channels).U32(images.positions);
  call.F32(ctx.attributes().f32("epsilon"));
  call.Flops(5 * images.count()).Grid(ctx.StridedGroups(*kernel, images.count()));
  return ctx.Emit(std::move(call));
}

absl::Status LowerTraining(LowerContext& ctx) {
  const Images images = ImagesOf(ctx.input_shape(0));
  OA_RETURN_IF_ERROR(EmitStatistics(ctx, images));
  return EmitNormalise(ctx, images, ctx.out(1), ctx.out(2), ctx.in(1), ctx.in(2));
}

// scale[c] = weight[c] / sqrt(variance[c] + epsilon).
absl::Status EmitScale(LowerContext& ctx, BufferSlice scale) {
  EwBuilder builder(ctx.input_count_of(1));
  const EwBuilder::Reg variance = builder.Input(ctx.Ew(2)), weight = builder.Input(ctx.Ew(3));
  const EwBuilder::Reg shifted =
      builder.Op(OA_EW_ADD_SCALAR, variance, ctx.attributes().f32("epsilon"));
  builder.Output(builder.Op2(OA_EW_DIV, weight, builder.Op(OA_EW_SQRT, shifted)), scale);
  return ctx.Emit(builder.Build());
}

// Given statistics make it elementwise: (x - mean) * scale + bias. With one scale a channel,
// computed apart and beforehand, it fits into the epilogue of the convolution that makes x.
absl::Status LowerWithStats(LowerContext& ctx) {
  const Shape& shape = ctx.output_shape();
  const Shape per_channel = {shape[1], 1, 1};
  const BufferSlice scale = ctx.Scratch("scale", DType::F32, {shape[1]});
  OA_RETURN_IF_ERROR(EmitScale(ctx, scale));
  const auto channel = [&](BufferSlice slice) {
    return BroadcastInput(slice, DType::F32, per_channel, shape);
  };
  EwBuilder builder(ctx.output_count_of());
  const EwBuilder::Reg x = builder.Input(ctx.Ew(0));
  const EwBuilder::Reg centred = builder.Op2(OA_EW_SUB, x, builder.Input(channel(ctx.in(1))));
  const EwBuilder::Reg scaled = builder.Op2(OA_EW_MUL, centred, builder.Input(channel(scale)));
  builder.Output(builder.Op2(OA_EW_ADD, scaled, builder.Input(channel(ctx.in(4)))), ctx.out());
  return ctx.Emit(builder.Build());
}

absl::Status EmitDataGradient(LowerContext& ctx, const Images& images, bool training,
                              BufferSlice dweight, BufferSlice dbias) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("batch_norm_backward_f32"));
  KernelCall call(kernel);
  call.Buffer(training ? ctx.in(1) : BufferSlice()).Buffer(ctx.in(0));
  call.Buffer(training ? ctx.in(2) : BufferSlice()).Buffer(ctx.in(3)).Buffer(ctx.in(4));
  call.Buffer(training ? dweight : BufferSlice()).Buffer(training ? dbias : BufferSlice());
  call.Buffer(ctx.out(0));
  call.U32(images.batch).U32(images.channels).U32(images.positions);
  call.F32(ctx.attributes().f32("epsilon")).Constant("training", training);
  call.Flops((training ? 8 : 2) * images.count());
  call.Grid(ctx.StridedGroups(*kernel, images.count()));
  return ctx.Emit(std::move(call));
}

// The data gradient of the training form needs both sums, wanted as results or not.
template <bool kTraining>
absl::Status LowerBackward(LowerContext& ctx) {
  const Images images = ImagesOf(ctx.input_shape(1));
  ChannelSums sums = {.x = ctx.in(1), .g = ctx.in(0), .mean = ctx.in(2), .spread = ctx.in(3)};
  sums.batch = images.batch;
  sums.channels = images.channels;
  sums.positions = images.positions;
  sums.dweight = ctx.out_or_null(1);
  sums.dbias = ctx.out_or_null(2);
  if (kTraining && ctx.has_output(0)) {
    const Shape shape = {images.channels};
    if (!ctx.has_output(1)) sums.dweight = ctx.Scratch("dweight", DType::F32, shape);
    if (!ctx.has_output(2)) sums.dbias = ctx.Scratch("dbias", DType::F32, shape);
  }
  OA_RETURN_IF_ERROR(EmitChannelSums(ctx, sums));
  if (!ctx.has_output(0)) return absl::OkStatus();
  return EmitDataGradient(ctx, images, kTraining, sums.dweight, sums.dbias);
}

// ---- Rows ----

template <bool kTraining>
OpDef GradientRow(const OpDef& forward, const char* equation) {
  OpDef row = BackwardRow(
      forward, {equation, "g, x, dx [N, C, H, W], the others [C]"},
      {Operand("g"), Operand("x"), Operand("mean"), Operand("variance"), Operand("weight")},
      OptionalResults({"dx", "dweight", "dbias"}));
  row.infer = InferBackward;
  row.lower = LowerBackward<kTraining>;
  row.kernels = {"channel_sums_f32", "batch_norm_backward_f32"};
  return row;
}

OpDef TrainingRow() {
  OpDef row = MakeRow(
      {"batch_norm_2d", "norm",
       "y = (x - mean) / sqrt(variance + epsilon) * weight + bias, mean and biased variance of "
       "each channel",
       "x, y [N, C, H, W], the others [C]"},
      {Operand("x"), Operand("weight"), Operand("bias")},
      {{.name = "y"}, DetachedResult("mean"), DetachedResult("variance")});
  row.attributes = {RealAttribute("epsilon")};
  row.rejects = "x not of rank 4; vectors that are not [C]; epsilon not finite or not above 0";
  row.notes =
      "The variance is the biased one, from centred values. Running statistics are kept by the "
      "caller.";
  row.infer = InferTraining;
  row.adjoint = AdjointTraining;
  row.lower = LowerTraining;
  row.kernels = {"channel_statistics_f32", "batch_norm_f32"};
  return row;
}

OpDef WithStatsRow() {
  OpDef row = TrainingRow();
  row.name = "batch_norm_2d_with_stats";
  row.equation = "y = (x - mean) / sqrt(variance + epsilon) * weight + bias";
  row.operands = {Operand("x"), DetachedOperand("mean"), DetachedOperand("variance"),
                  Operand("weight"), Operand("bias")};
  row.results = {{.name = "y"}};
  row.notes.clear();
  row.infer = InferWithStats;
  row.adjoint = AdjointWithStats;
  row.lower = LowerWithStats;
  row.kernels = {kElementwise};
  return row;
}

}  // namespace

std::vector<OpDef> BatchNormOps() {
  const OpDef training = TrainingRow(), with_stats = WithStatsRow();
  return {training,
          GradientRow<true>(training,
                            "dx = weight * rstd * (g - dbias / M - xhat * dweight / M), dweight = "
                            "sum of g * xhat, dbias = sum of g over the M elements of a channel"),
          with_stats,
          GradientRow<false>(with_stats,
                             "dx = weight * rstd * g, dweight = sum of g * xhat, dbias = sum of "
                             "g over the elements of a channel")};
}

}  // namespace oa::ir
