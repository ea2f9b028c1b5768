// Pooling and resampling of NCHW images: avg_pool_2d, max_pool_2d, adaptive_avg_pool_2d and
// upsample_2d. Kernels see the images as N * C planes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "ir/ops/shape_attributes.h"
#include "ir/ops/window.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "pool";

// ---- Shapes ----

// What pooling `image` [N, C, H, W] with fixed windows gives.
absl::StatusOr<Shape> PooledShape(const InferContext& ctx, const Shape& image) {
  OA_ASSIGN_OR_RETURN(const uint64_t size, CountAttribute(ctx, "kernel_size", 1));
  OA_ASSIGN_OR_RETURN(const uint64_t stride, CountAttribute(ctx, "stride", 1));
  OA_ASSIGN_OR_RETURN(const uint64_t padding, CountAttribute(ctx, "padding", 0));
  OA_ASSIGN_OR_RETURN(const uint64_t height, WindowPositions(ctx, image[2], size, stride, padding));
  OA_ASSIGN_OR_RETURN(const uint64_t width, WindowPositions(ctx, image[3], size, stride, padding));
  return Shape{image[0], image[1], height, width};
}

// The kernels compute the bounds of bins in 32 bits.
absl::Status CheckBins(const InferContext& ctx, uint64_t extent, uint64_t bins) {
  if (extent * bins <= UINT32_MAX) return absl::OkStatus();
  return ctx.Fail("an extent of ", extent, " times ", bins, " bins exceeds 4294967295");
}

// What pooling `image` to a fixed size gives.
absl::StatusOr<Shape> BinnedShape(const InferContext& ctx, const Shape& image) {
  OA_ASSIGN_OR_RETURN(const uint64_t height, CountAttribute(ctx, "output_height", 1));
  OA_ASSIGN_OR_RETURN(const uint64_t width, CountAttribute(ctx, "output_width", 1));
  OA_RETURN_IF_ERROR(CheckBins(ctx, image[2], height));
  OA_RETURN_IF_ERROR(CheckBins(ctx, image[3], width));
  return Shape{image[0], image[1], height, width};
}

using OutputShape = absl::StatusOr<Shape> (*)(const InferContext&, const Shape& image);

template <OutputShape kOutput>
absl::Status InferPool(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  OA_ASSIGN_OR_RETURN(const Shape shape, kOutput(ctx, ctx.shape(0)));
  return ctx.AddResult(DType::F32, shape);
}

absl::Status InferMaxPool(InferContext& ctx) {
  OA_RETURN_IF_ERROR(InferPool<PooledShape>(ctx));
  return ctx.AddResult(DType::U32, ctx.results()[0].shape);
}

// Gradients need the shape of the image, which the output does not determine.
template <OutputShape kOutput>
absl::Status InferPoolBackward(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape image, ShapeAttribute(ctx, "shape"));
  if (image.size() != 4) return ctx.Fail("attribute 'shape' must have four extents");
  for (uint64_t extent : image) {
    if (extent == 0 || extent > UINT32_MAX) {
      return ctx.Fail("attribute 'shape' has the extent ", extent);
    }
  }
  OA_ASSIGN_OR_RETURN(const Shape pooled, kOutput(ctx, image));
  for (int i = 0; i < ctx.operand_count(); ++i) OA_RETURN_IF_ERROR(ctx.RequireShape(i, pooled));
  return ctx.AddResult(DType::F32, image);
}

absl::Status InferUpsample(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  OA_ASSIGN_OR_RETURN(const uint64_t scale, CountAttribute(ctx, "scale_factor", 1));
  Shape shape = ctx.shape(0);
  shape[2] *= scale;  // 32 bits times 32 bits
  shape[3] *= scale;
  return ctx.AddResult(DType::F32, shape);
}

absl::Status InferUpsampleBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  OA_ASSIGN_OR_RETURN(const uint64_t scale, CountAttribute(ctx, "scale_factor", 1));
  Shape shape = ctx.shape(0);
  if (shape[2] % scale != 0 || shape[3] % scale != 0) {
    return ctx.Fail("the extents of ", ShapeText(shape), " are no multiples of the scale ", scale);
  }
  shape[2] /= scale;
  shape[3] /= scale;
  return ctx.AddResult(DType::F32, shape);
}

// ---- Adjoints ----

// Records `<op>_backward` on `inputs` with the forward attributes and the shape of the image.
absl::Status EmitPoolBackward(AdjointContext& ctx, absl::Span<const ValueId> inputs) {
  Attributes attributes = ctx.attributes();
  attributes.List("shape", ShapeList(ctx.shape(ctx.input(0))));
  OA_ASSIGN_OR_RETURN(const ValueId dx,
                      ctx.Emit(absl::StrCat(ctx.node().op->name, "_backward"), inputs, attributes));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

absl::Status AdjointAvgPool(AdjointContext& ctx) { return EmitPoolBackward(ctx, {ctx.grad()}); }

absl::Status AdjointMaxPool(AdjointContext& ctx) {
  return EmitPoolBackward(ctx, {ctx.grad(), ctx.output(1)});
}

absl::Status AdjointUpsample(AdjointContext& ctx) { return ctx.EmitBackward({ctx.grad()}); }

// ---- Lowering ----

uint64_t Planes(const Shape& shape) { return shape[0] * shape[1]; }

// All operands, all results, then the planes' extents: every kernel here starts like that.
// For each element of the result, the kernel visits at most `rows` rows of `columns` cells.
absl::StatusOr<KernelCall> PlaneCall(const LowerContext& ctx, const Kernel* kernel,
                                     const Shape& image, uint64_t rows, uint64_t columns) {
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.StridedGroups(*kernel, ctx.output_count_of(), rows * (columns + 2) + 1));
  KernelCall call(kernel);
  for (int i = 0; i < ctx.input_count(); ++i) call.Buffer(ctx.in(i));
  const int results = static_cast<int>(ctx.node().outputs.size());
  for (int i = 0; i < results; ++i) call.Buffer(ctx.out(i));
  call.U32(Planes(image)).U32(image[2]).U32(image[3]);
  call.Grid(groups);
  return call;
}

// Windows of `size` cells, `stride` apart, that hold one cell of an axis with `windows` of them.
uint64_t Covering(uint64_t size, uint64_t stride, uint64_t windows) {
  return std::min(CeilDiv(size, stride), windows);
}

template <bool kBackward>
absl::Status EmitWindows(LowerContext& ctx, const Kernel* kernel) {
  const Shape& image = kBackward ? ctx.output_shape() : ctx.input_shape(0);
  const Shape& pooled = kBackward ? ctx.input_shape(0) : ctx.output_shape();
  const uint64_t size = static_cast<uint64_t>(ctx.attributes().i64("kernel_size"));
  const uint64_t stride = static_cast<uint64_t>(ctx.attributes().i64("stride"));
  const uint64_t padding = static_cast<uint64_t>(ctx.attributes().i64("padding"));
  const uint64_t rows = std::min(size, image[2]), columns = std::min(size, image[3]);
  OA_ASSIGN_OR_RETURN(
      KernelCall call,
      PlaneCall(ctx, kernel, image, kBackward ? Covering(size, stride, pooled[2]) : rows,
                kBackward ? Covering(size, stride, pooled[3]) : columns));
  call.U32(pooled[2]).U32(pooled[3]).U32(size).U32(stride).U32(padding);
  call.Flops(Planes(pooled) * pooled[2] * pooled[3] * rows * columns);
  return ctx.Emit(std::move(call));
}

template <bool kBackward>
absl::Status LowerAvgPool(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(kBackward ? "avg_pool_backward_f32" : "avg_pool_f32"));
  return EmitWindows<kBackward>(ctx, kernel);
}

template <bool kBackward>
absl::Status LowerMaxPool(LowerContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(kBackward ? "max_pool_backward_f32" : "max_pool_f32"));
  return EmitWindows<kBackward>(ctx, kernel);
}

// The kernels of avg_pool_2d with bins in the place of windows.
template <bool kBackward>
absl::Status LowerAdaptive(LowerContext& ctx) {
  const Shape& image = kBackward ? ctx.output_shape() : ctx.input_shape(0);
  const Shape& pooled = kBackward ? ctx.input_shape(0) : ctx.output_shape();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(kBackward ? "avg_pool_backward_f32" : "avg_pool_f32"));
  const Shape& read = kBackward ? pooled : image;
  const Shape& written = kBackward ? image : pooled;
  OA_ASSIGN_OR_RETURN(KernelCall call, PlaneCall(ctx, kernel, image, read[2] / written[2] + 2,
                                                 read[3] / written[3] + 2));
  call.U32(pooled[2]).U32(pooled[3]).U32(1).U32(1).U32(0).Constant("adaptive", 1);
  call.Flops(std::max(ctx.input_count_of(0), ctx.output_count_of()));
  return ctx.Emit(std::move(call));
}

template <bool kBackward>
absl::Status LowerUpsample(LowerContext& ctx) {
  const bool bilinear = ctx.attributes().token("mode") == "bilinear";
  OA_ASSIGN_OR_RETURN(const Kernel* kernel,
                      ctx.Select(kBackward ? "upsample_backward_f32" : "upsample_f32"));
  const uint64_t scale = static_cast<uint64_t>(ctx.attributes().i64("scale_factor"));
  const uint64_t readers = kBackward ? (bilinear ? 2 : 1) * scale : 0;
  OA_ASSIGN_OR_RETURN(KernelCall call,
                      PlaneCall(ctx, kernel, kBackward ? ctx.output_shape() : ctx.input_shape(0),
                                readers, readers));
  call.U32(scale);
  call.Constant("bilinear", bilinear ? 1 : 0);
  const uint64_t large = kBackward ? ctx.input_count_of(0) : ctx.output_count_of();
  call.Flops((bilinear ? 9 : 1) * large);
  return ctx.Emit(std::move(call));
}

// ---- Rows ----

constexpr char kShapes[] = "x [N,C,H,W], y [N,C,OH,OW]";
constexpr char kGradientShapes[] = "g [N,C,OH,OW], dx [N,C,H,W]";

constexpr char kWindowRejects[] =
    "x not of rank 4; kernel_size or stride 0; a window larger than the padded extents";

std::vector<AttributeDef> WindowAttributes() {
  return {IntegerAttribute("kernel_size"), IntegerAttribute("stride"), IntegerAttribute("padding")};
}

OpDef ImageRow(const char* name, const char* equation, std::vector<AttributeDef> attributes) {
  OpDef row = MakeRow({name, kFamily, equation, kShapes}, {Operand("x")}, {{.name = "y"}});
  row.attributes = std::move(attributes);
  return row;
}

// The backward row of `row` up to its functions.
OpDef GradientRow(const OpDef& row, const char* equation, bool with_shape) {
  OpDef backward = BackwardRow(row, {equation, kGradientShapes}, {Operand("g")}, {{.name = "dx"}});
  if (with_shape) backward.attributes.push_back({"shape", AttributeKind::kI64List});
  return backward;
}

void AddAvgPool(std::vector<OpDef>& rows) {
  OpDef row = ImageRow("avg_pool_2d",
                       "y = mean of x over the part of each window inside x; 0 where none is",
                       WindowAttributes());
  row.infer = InferPool<PooledShape>;
  row.adjoint = AdjointAvgPool;
  row.rejects = kWindowRejects;
  row.lower = LowerAvgPool<false>;
  row.kernels = {"avg_pool_f32"};
  rows.push_back(row);
  row = GradientRow(row, "dx = sum of g / cells over the windows that hold the cell", true);
  row.infer = InferPoolBackward<PooledShape>;
  row.lower = LowerAvgPool<true>;
  row.kernels = {"avg_pool_backward_f32"};
  rows.push_back(row);
}

void AddMaxPool(std::vector<OpDef>& rows) {
  OpDef row = ImageRow("max_pool_2d",
                       "y = largest x of the part of each window inside x, the earliest of equal "
                       "ones; indices = its offset in x; lowest f32 and 2^32-1 where no part is",
                       WindowAttributes());
  row.shapes = "x [N,C,H,W], y [N,C,OH,OW], indices u32 [N,C,OH,OW]";
  row.results.push_back(DetachedResult("indices"));
  row.infer = InferMaxPool;
  row.adjoint = AdjointMaxPool;
  row.rejects = kWindowRejects;
  row.lower = LowerMaxPool<false>;
  row.kernels = {"max_pool_f32"};
  rows.push_back(row);
  row = GradientRow(row, "dx = sum of g over the windows whose index is the cell", true);
  row.shapes = "g [N,C,OH,OW], indices u32 [N,C,OH,OW], dx [N,C,H,W]";
  row.operands.push_back(DetachedOperand("indices", Only(DType::U32)));
  row.infer = InferPoolBackward<PooledShape>;
  row.lower = LowerMaxPool<true>;
  row.kernels = {"max_pool_backward_f32"};
  rows.push_back(row);
}

void AddAdaptive(std::vector<OpDef>& rows) {
  OpDef row = ImageRow("adaptive_avg_pool_2d",
                       "y = mean of x over each bin, floor(i * E / O) to ceil((i + 1) * E / O) of "
                       "an axis from extent E to O",
                       {IntegerAttribute("output_height"), IntegerAttribute("output_width")});
  row.infer = InferPool<BinnedShape>;
  row.adjoint = AdjointAvgPool;
  row.rejects = "x not of rank 4; an output extent of 0; extent times bins above 2^32 - 1";
  row.lower = LowerAdaptive<false>;
  row.kernels = {"avg_pool_f32"};
  rows.push_back(row);
  row = GradientRow(row, "dx = sum of g / cells over the bins that hold the cell", true);
  row.infer = InferPoolBackward<BinnedShape>;
  row.lower = LowerAdaptive<true>;
  row.kernels = {"avg_pool_backward_f32"};
  rows.push_back(row);
}

void AddUpsample(std::vector<OpDef>& rows) {
  OpDef row = ImageRow(
      "upsample_2d",
      "y = x at the source of each cell: nearest floor(o / s), or bilinear at "
      "(o + 0.5) / s - 0.5 clamped into x",
      {IntegerAttribute("scale_factor"), {"mode", AttributeKind::kToken, {"nearest", "bilinear"}}});
  row.shapes = "x [N,C,H,W], y [N,C,s*H,s*W]";
  row.infer = InferUpsample;
  row.adjoint = AdjointUpsample;
  row.rejects = "x not of rank 4; scale_factor 0";
  row.lower = LowerUpsample<false>;
  row.kernels = {"upsample_f32"};
  rows.push_back(row);
  row = GradientRow(row, "dx = sum of g times the weight with which its cell reads x", false);
  row.shapes = "g [N,C,s*H,s*W], dx [N,C,H,W]";
  row.infer = InferUpsampleBackward;
  row.lower = LowerUpsample<true>;
  row.kernels = {"upsample_backward_f32"};
  rows.push_back(row);
}

}  // namespace

std::vector<OpDef> PoolOps() {
  std::vector<OpDef> rows;
  AddAvgPool(rows);
  AddMaxPool(rows);
  AddAdaptive(rows);
  AddUpsample(rows);
  return rows;
}

}  // namespace oa::ir
