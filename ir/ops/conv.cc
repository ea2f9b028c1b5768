// Convolutions of sequences [N, C, L] and images [N, C, H, W] and the transposed ones, with their
// adjoints. Kernels see a sequence as an image of height 1.
//
// A transposed convolution is the adjoint of a convolution with the same weight array, its input
// and output in exchanged roles, so that four kernels serve all operators.
#include <algorithm>
#include <utility>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "ir/ops/window.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// What distinguishes the four operators.
struct Kind {
  int axes;         // 1: sequences, 2: images
  bool transposed;  // weight [C, O, ..] instead of [O, C / groups, ..]
};
inline constexpr Kind kConv1d = {1, false}, kConv2d = {2, false};
inline constexpr Kind kTransposed1d = {1, true}, kTransposed2d = {2, true};

// An integer attribute that not all operators have. Pre-condition: it has been checked.
uint64_t IntegerOr(const Attributes& attributes, absl::string_view name, uint64_t absent) {
  for (const Attribute& attribute : attributes.all()) {
    if (attribute.name == name) return static_cast<uint64_t>(attribute.integer);
  }
  return absent;
}

// ---- Validation ----

absl::Status CheckIntegers(const InferContext& ctx) {
  for (const Attribute& attribute : ctx.attributes().all()) {
    const int64_t least = attribute.name == "padding" ? 0 : 1;
    OA_RETURN_IF_ERROR(CountAttribute(ctx, attribute.name, least).status());
  }
  return absl::OkStatus();
}

// Operands `x` and `x` + 1, the weight.
absl::Status CheckOperands(const InferContext& ctx, const Kind& kind, int x) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(x, kind.axes + 2));
  OA_RETURN_IF_ERROR(ctx.RequireRank(x + 1, kind.axes + 2));
  const Shape& weight = ctx.shape(x + 1);
  if (kind.axes == 2 && weight[2] != weight[3]) {
    return ctx.Fail("the kernel of the weight ", ShapeText(weight), " must be square");
  }
  const uint64_t channels = ctx.shape(x)[1];
  const uint64_t groups = IntegerOr(ctx.attributes(), "groups", 1);
  if (channels % groups != 0 || (!kind.transposed && weight[0] % groups != 0)) {
    return ctx.Fail(groups, " groups divide ", channels, " input and ", weight[0],
                    " output channels unevenly");
  }
  const uint64_t expected = channels / groups, given = weight[kind.transposed ? 0 : 1];
  if (given == expected) return absl::OkStatus();
  return ctx.Fail("the weight ", ShapeText(weight), " is for ", given,
                  " input channels, the operand has ", expected,
                  groups > 1 ? " in each group" : "");
}

// The extent that a transposed convolution makes of `extent`.
absl::StatusOr<uint64_t> TransposedExtent(const InferContext& ctx, uint64_t extent, uint64_t window,
                                          uint64_t stride, uint64_t padding) {
  const uint64_t steps = (extent - 1) * stride;  // 32 bits times 32 bits
  if (window > UINT32_MAX || steps > UINT32_MAX - window) {
    return ctx.Fail("the padded output of an extent of ", extent, " exceeds 4294967295");
  }
  if (steps + window > 2 * padding) return steps + window - 2 * padding;
  return ctx.Fail("the padding of ", padding, " on both sides leaves nothing of an output of ",
                  steps + window);
}

uint64_t Outputs(const Kind& kind, const Shape& weight) { return weight[kind.transposed ? 1 : 0]; }

// Validates attributes, operands `x` and `x` + 1, and returns the shape of the result.
absl::StatusOr<Shape> ResultShape(const InferContext& ctx, const Kind& kind, int x) {
  OA_RETURN_IF_ERROR(CheckIntegers(ctx));
  OA_RETURN_IF_ERROR(CheckOperands(ctx, kind, x));
  const Shape& weight = ctx.shape(x + 1);
  const uint64_t stride = IntegerOr(ctx.attributes(), "stride", 1);
  const uint64_t padding = IntegerOr(ctx.attributes(), "padding", 0);
  const uint64_t window = DilatedSize(weight.back(), IntegerOr(ctx.attributes(), "dilation", 1));
  Shape shape = {ctx.shape(x)[0], Outputs(kind, weight)};
  for (size_t axis = 2; axis < ctx.shape(x).size(); ++axis) {
    const auto positions = kind.transposed ? TransposedExtent : WindowPositions;
    OA_ASSIGN_OR_RETURN(const uint64_t extent,
                        positions(ctx, ctx.shape(x)[axis], window, stride, padding));
    shape.push_back(extent);
  }
  return shape;
}

// Operands (x, weight, bias where the operator has one).
template <const Kind& kKind>
absl::Status Infer(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape shape, ResultShape(ctx, kKind, 0));
  if (ctx.operand_count() > 2) OA_RETURN_IF_ERROR(ctx.RequireShape(2, {shape[1]}));
  return ctx.AddResult(DType::F32, shape);
}

// Operands (g, x, weight).
template <const Kind& kKind, bool kHasBias>
absl::Status InferBackward(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const Shape shape, ResultShape(ctx, kKind, 1));
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, shape));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(1)));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, ctx.shape(2)));
  return kHasBias ? ctx.AddResult(DType::F32, {shape[1]}) : absl::OkStatus();
}

absl::Status Adjoint(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1)});
}

// ---- Lowering ----

// The convolution that a call is, or is the adjoint of.
struct Convolution {
  Shape image;   // [N, C, H, W]
  Shape result;  // [N, O, OH, OW]
  uint64_t kernel_height, kernel_width;
  uint64_t stride, padding_height, padding_width, dilation, groups;

  uint64_t flops() const {
    const uint64_t kernel = kernel_height * kernel_width;
    return 2 * result[0] * result[1] * result[2] * result[3] * (image[1] / groups) * kernel;
  }
};

Shape AsImage(Shape shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
  return shape;
}

// `x` and `y` are input and result of the operator.
Convolution ConvolutionOf(const Kind& kind, const Attributes& attributes, const Shape& x,
                          const Shape& weight, const Shape& y) {
  Convolution c;
  c.image = AsImage(kind.transposed ? y : x);
  c.result = AsImage(kind.transposed ? x : y);
  c.kernel_height = AsImage(weight)[2];
  c.kernel_width = weight.back();
  c.stride = IntegerOr(attributes, "stride", 1);
  c.padding_width = IntegerOr(attributes, "padding", 0);
  c.padding_height = kind.axes == 1 ? 0 : c.padding_width;
  c.dilation = IntegerOr(attributes, "dilation", 1);
  c.groups = IntegerOr(attributes, "groups", 1);
  return c;
}

KernelCall& AddExtents(KernelCall& call, const Convolution& c) {
  return call.U32(c.image[0])
      .U32(c.image[1])
      .U32(c.image[2])
      .U32(c.image[3])
      .U32(c.result[1])
      .U32(c.result[2])
      .U32(c.result[3])
      .U32(c.kernel_height)
      .U32(c.kernel_width)
      .U32(c.stride)
      .U32(c.padding_height)
      .U32(c.padding_width)
      .U32(c.dilation)
      .U32(c.groups)
      .Flops(c.flops());
}

// conv_f32 (from image to result) and conv_data_f32 (back): invocations own a few channels of a
// group each.
absl::Status EmitConvolution(LowerContext& ctx, const Convolution& c, bool to_image,
                             BufferSlice from, BufferSlice weight, BufferSlice bias,
                             BufferSlice to) {
  constexpr uint64_t kTile = 4;  // as in the kernels
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select(to_image ? "conv_data_f32" : "conv_f32"));
  const Shape& written = to_image ? c.image : c.result;
  const uint64_t summed = (to_image ? c.result : c.image)[1] / c.groups;
  const uint64_t tiles = c.groups * CeilDiv(written[1] / c.groups, kTile);
  // Loops over channels of the kernel's rows and columns, or the other way round.
  const uint64_t sums = to_image ? c.kernel_height * (c.kernel_width * (summed + 2) + 2) + 1
                                 : summed * (c.kernel_height * (c.kernel_width + 2) + 2) + 1;
  OA_ASSIGN_OR_RETURN(
      const uint64_t groups,
      ctx.StridedGroups(*kernel, written[0] * tiles * written[2] * written[3],
                        sums + kTile + 1));
  KernelCall call(kernel);
  call.Buffer(from).Buffer(weight).Buffer(bias).Epilogue(to);
  AddExtents(call, c).Constant("has_bias", bias.size_bytes > 0 ? 1 : 0).Grid(groups);
  return ctx.Emit(std::move(call));
}

// An invocation owns a weight on CPU devices, elsewhere a workgroup does.
absl::StatusOr<uint64_t> WeightGroups(const LowerContext& ctx, const Convolution& c,
                                      const Kernel& kernel, uint64_t weights) {
  const Shape& g = c.result;
  if (kernel.device == KernelDevice::kCpu) {
    return ctx.StridedGroups(kernel, weights, g[0] * (g[2] * (g[3] + 2) + 2) + 1);
  }
  return ctx.RowGroups(weights, CeilDiv(g[0] * g[2] * g[3], kernel.local_size[0]) + 1);
}

absl::Status EmitWeightGradient(LowerContext& ctx, const Convolution& c, BufferSlice result,
                                BufferSlice image, BufferSlice dweight) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("conv_weight_f32"));
  const uint64_t weights = ctx.output_count_of(1);
  KernelCall call(kernel);
  call.Buffer(result).Buffer(image).Buffer(dweight);
  OA_ASSIGN_OR_RETURN(const uint64_t groups, WeightGroups(ctx, c, *kernel, weights));
  AddExtents(call, c).Grid(groups);
  return ctx.Emit(std::move(call));
}

absl::Status EmitBiasGradient(LowerContext& ctx, const Shape& g) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("conv_bias_f32"));
  const uint64_t plane = CeilDiv(g[2] * g[3], kernel->local_size[0]) + 1;
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(g[1], g[0] * (plane + 1) + 1));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.out(2))
                      .U32(g[0])
                      .U32(g[1])
                      .U32(g[2] * g[3])
                      .Flops(g[0] * g[1] * g[2] * g[3])
                      .Grid(groups));
}

template <const Kind& kKind>
absl::Status Lower(LowerContext& ctx) {
  const Convolution c = ConvolutionOf(kKind, ctx.attributes(), ctx.input_shape(0),
                                      ctx.input_shape(1), ctx.output_shape());
  const BufferSlice bias = ctx.input_count() > 2 ? ctx.in(2) : BufferSlice();
  return EmitConvolution(ctx, c, kKind.transposed, ctx.in(0), ctx.in(1), bias, ctx.out());
}

template <const Kind& kKind>
absl::Status LowerBackward(LowerContext& ctx) {
  const Convolution c = ConvolutionOf(kKind, ctx.attributes(), ctx.input_shape(1),
                                      ctx.input_shape(2), ctx.input_shape(0));
  if (ctx.has_output(0)) {
    OA_RETURN_IF_ERROR(EmitConvolution(ctx, c, !kKind.transposed, ctx.in(0), ctx.in(2),
                                       BufferSlice(), ctx.out(0)));
  }
  if (ctx.has_output(1)) {
    const BufferSlice result = ctx.in(kKind.transposed ? 1 : 0);
    const BufferSlice image = ctx.in(kKind.transposed ? 0 : 1);
    OA_RETURN_IF_ERROR(EmitWeightGradient(ctx, c, result, image, ctx.out(1)));
  }
  if (ctx.node().outputs.size() < 3 || !ctx.has_output(2)) return absl::OkStatus();
  return EmitBiasGradient(ctx, AsImage(ctx.input_shape(0)));
}

// ---- Rows ----

struct Text {
  const char* name;
  const char* equation;
  const char* rejects;
  const char* gradient;
  const char* x;
  const char* weight;
  const char* y;
};

// A forward row and its backward row; `last` is the attribute behind stride and padding, or null.
template <const Kind& kKind, bool kHasBias>
void AddRows(const Text& text, const char* last, std::vector<OpDef>& rows) {
  const std::string x = text.x, weight = text.weight, y = text.y;
  OpDef row =
      MakeRow({text.name, "conv", text.equation,
               "x " + x + ", weight " + weight + (kHasBias ? ", bias [O]" : "") + ", y " + y},
              {Operand("x"), Operand("weight")}, {{.name = "y"}});
  if (kHasBias) row.operands.push_back(Operand("bias"));
  row.attributes = {IntegerAttribute("stride"), IntegerAttribute("padding")};
  if (last != nullptr) row.attributes.push_back(IntegerAttribute(last));
  row.infer = Infer<kKind>;
  row.rejects = text.rejects;
  row.adjoint = Adjoint;
  row.lower = Lower<kKind>;
  row.kernels = {kKind.transposed ? "conv_data_f32" : "conv_f32"};
  rows.push_back(row);

  row = BackwardRow(
      row,
      {text.gradient, "g " + y + ", x " + x + ", weight " + weight + ", dx " + x + ", dweight " +
                          weight + (kHasBias ? ", dbias [O]" : "")},
      {Operand("g"), Operand("x"), Operand("weight")},
      kHasBias ? OptionalResults({"dx", "dweight", "dbias"}) : OptionalResults({"dx", "dweight"}));
  row.infer = InferBackward<kKind, kHasBias>;
  row.lower = LowerBackward<kKind>;
  row.kernels = {kKind.transposed ? "conv_f32" : "conv_data_f32", "conv_weight_f32"};
  if (kHasBias) row.kernels.push_back("conv_bias_f32");
  rows.push_back(row);
}

}  // namespace

std::vector<OpDef> ConvOps() {
  constexpr char kAll[] = "dx, dweight: the adjoints; dbias = sum of g over all but the channels";
  std::vector<OpDef> rows;
  AddRows<kConv1d, true>(
      {"conv_1d", "y[n,o,l] = bias[o] + sum_{c,k} x[n,c,l*stride+k*dilation-padding]*weight[o,c,k]",
       "x or weight not of rank 3; a weight for other channels; a bias that is not [O]; stride or "
       "dilation 0; a kernel larger than the padded extent",
       kAll, "[N,C,L]", "[O,C,K]", "[N,O,OL]"},
      "dilation", rows);
  AddRows<kConv2d, true>({"conv_2d",
                          "y[n,o,i,j] = bias[o] + sum_{c,a,b} "
                          "x[n,c,i*stride+a-padding,j*stride+b-padding]*weight[o,c,a,b], c in the "
                          "group of o",
                          "x or weight not of rank 4; a kernel that is not square; groups that do "
                          "not divide both channel counts; a weight for other channels; a bias "
                          "that is not [O]; stride or groups 0; a kernel larger than the padded "
                          "extents",
                          kAll, "[N,C,H,W]", "[O,C/groups,K,K]", "[N,O,OH,OW]"},
                         "groups", rows);
  AddRows<kTransposed1d, false>(
      {"conv_transpose_1d",
       "y[n,o,j] = sum over i*stride+k*dilation-padding = j and c of x[n,c,i]*weight[c,o,k]",
       "x or weight not of rank 3; a weight for other channels; stride or dilation 0; padding that "
       "leaves nothing of the output",
       "dx, dweight: the adjoints", "[N,C,L]", "[C,O,K]", "[N,O,OL]"},
      "dilation", rows);
  AddRows<kTransposed2d, true>(
      {"conv_transpose_2d",
       "y[n,o,i,j] = bias[o] + sum over h*stride+a-padding = i, w*stride+b-padding = j and c of "
       "x[n,c,h,w]*weight[c,o,a,b]",
       "x or weight not of rank 4; a kernel that is not square; a weight for other channels; a "
       "bias that is not [O]; stride 0; padding that leaves nothing of the output",
       kAll, "[N,C,H,W]", "[C,O,K,K]", "[N,O,OH,OW]"},
      nullptr, rows);
  return rows;
}

}  // namespace oa::ir
