// Losses over equal shapes: an elementwise term, averaged. Cross entropy is in cross_entropy.cc.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/elementwise.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/cross_entropy.h"
#include "ir/ops/families.h"
#include "ir/ops/reduce_lowering.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

using Reg = EwBuilder::Reg;

enum class Loss { kMse, kL1, kSmoothL1, kBce, kBceWithLogits };

// Width of the quadratic part of smooth_l1; the others have no attribute.
float Beta(const Attributes& attributes) { return attributes.empty() ? 0 : attributes.f32("beta"); }

Reg Term(Loss loss, EwBuilder& b, Reg p, Reg t, float beta) {
  switch (loss) {
    case Loss::kMse:
      return b.Op(OA_EW_SQUARE, b.Op2(OA_EW_SUB, p, t));
    case Loss::kL1:
      return b.Op(OA_EW_ABS, b.Op2(OA_EW_SUB, p, t));
    case Loss::kSmoothL1:
      return b.Op(OA_EW_SMOOTH_L1, b.Op2(OA_EW_SUB, p, t), beta);
    case Loss::kBce:
      return b.Op2(OA_EW_BCE, p, t);
    case Loss::kBceWithLogits:
      break;
  }
  return b.Op2(OA_EW_BCE_LOGITS, p, t);
}

// The derivative of Term by p, times g.
Reg Slope(Loss loss, EwBuilder& b, Reg p, Reg t, Reg g, float beta) {
  switch (loss) {
    case Loss::kMse:
      return b.Op2(OA_EW_MUL, b.Op(OA_EW_SCALE, b.Op2(OA_EW_SUB, p, t), 2.0f), g);
    case Loss::kL1:
      return b.Op2(OA_EW_ABS_BWD, b.Op2(OA_EW_SUB, p, t), g);
    case Loss::kSmoothL1:
      return b.Op2(OA_EW_SMOOTH_L1_BWD, b.Op2(OA_EW_SUB, p, t), g, beta);
    case Loss::kBce:
      return b.Op2(OA_EW_MUL, b.Op2(OA_EW_BCE_BWD, p, t), g);
    case Loss::kBceWithLogits:
      break;
  }
  return b.Op2(OA_EW_MUL, b.Op2(OA_EW_BCE_LOGITS_BWD, p, t), g);
}

absl::Status RequireBeta(const InferContext& ctx) {
  if (ctx.attributes().empty()) return absl::OkStatus();
  const float beta = Beta(ctx.attributes());
  if (std::isfinite(beta) && beta > 0) return absl::OkStatus();
  return ctx.Fail("attribute 'beta' is ", beta, ", must be finite and greater than zero");
}

absl::Status InferLoss(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(1, 0));
  OA_RETURN_IF_ERROR(RequireBeta(ctx));
  return ctx.AddResult(DType::F32, {1});
}

absl::Status AdjointLoss(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1)});
}

template <Loss kLoss>
absl::Status LowerLoss(LowerContext& ctx) {
  const uint64_t n = ctx.input_count_of(0);
  const BufferSlice terms = ctx.Scratch("terms", DType::F32, ctx.input_shape(0));
  EwBuilder b(n);
  const Reg p = b.Input(ctx.Ew(0));
  const Reg t = b.Input(ctx.Ew(1));
  b.Output(Term(kLoss, b, p, t, Beta(ctx.attributes())), terms);
  OA_RETURN_IF_ERROR(ctx.Emit(b.Build()));
  return EmitReduceAll(ctx, terms, n, ctx.out(), ReduceKind::kSum, 1.0f / static_cast<float>(n));
}

// Operands (g [1], prediction, target).
absl::Status InferLossBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {1}));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(2, 1));
  OA_RETURN_IF_ERROR(RequireBeta(ctx));
  return ctx.AddResult(DType::F32, ctx.shape(1));
}

template <Loss kLoss>
absl::Status LowerLossBackward(LowerContext& ctx) {
  const uint64_t n = ctx.output_count_of();
  EwBuilder b(n);
  const Reg g = b.Input(ctx.Ew(0, ctx.output_shape()));
  const Reg p = b.Input(ctx.Ew(1));
  const Reg t = b.Input(ctx.Ew(2));
  const Reg slope = Slope(kLoss, b, p, t, g, Beta(ctx.attributes()));
  b.Output(b.Op(OA_EW_SCALE, slope, 1.0f / static_cast<float>(n)), ctx.out());
  return ctx.Emit(b.Build());
}

struct LossText {
  const char* name;
  const char* equation;
  const char* derivative;
  const char* prediction = "prediction";
};

template <Loss kLoss>
void AddLoss(std::vector<OpDef>& rows, const LossText& text) {
  OpDef row = MakeRow({text.name, "loss", text.equation,
                       std::string(text.prediction) + " [..], target [..], loss [1]"},
                      {Operand(text.prediction), DetachedOperand("target")}, {{.name = "loss"}});
  if (kLoss == Loss::kSmoothL1) row.attributes = {RealAttribute("beta")};
  row.infer = InferLoss;
  row.adjoint = AdjointLoss;
  row.rejects = absl::StrCat(text.prediction, " and target of different shapes",
                             kLoss == Loss::kSmoothL1 ? "; beta not finite or not above 0" : "");
  row.lower = LowerLoss<kLoss>;
  row.kernels = {kElementwise, "reduce_f32"};
  rows.push_back(row);

  row = BackwardRow(
      row,
      {text.derivative, std::string("g [1], ") + text.prediction + " [..], target [..], dp [..]"},
      {Operand("g"), Operand(text.prediction), DetachedOperand("target")}, {{.name = "dp"}});
  row.infer = InferLossBackward;
  row.lower = LowerLossBackward<kLoss>;
  row.kernels = {kElementwise};
  rows.push_back(std::move(row));
}

}  // namespace

std::vector<OpDef> LossOps() {
  std::vector<OpDef> rows = CrossEntropyOps();
  AddLoss<Loss::kMse>(rows, {"mse", "loss = mean((p - t)^2)", "dp = g * 2 * (p - t) / n"});
  AddLoss<Loss::kL1>(rows, {"l1", "loss = mean(|p - t|)", "dp = g * sign(p - t) / n"});
  AddLoss<Loss::kSmoothL1>(
      rows, {"smooth_l1", "loss = mean(d < beta ? d^2 / (2 beta) : d - beta / 2), d = |p - t|",
             "dp = g / n * (d < beta ? (p - t) / beta : sign(p - t))"});
  AddLoss<Loss::kBce>(
      rows, {"bce", "loss = -mean(t ln p + (1 - t) ln(1 - p)), p clamped to [1e-7, 1 - 1e-7]",
             "dp = g / n * (p - t) / (p * (1 - p)), p clamped"});
  AddLoss<Loss::kBceWithLogits>(
      rows, {"bce_with_logits", "loss = mean(max(z, 0) - z * t + ln(1 + e^-|z|))",
             "dz = g / n * (sigmoid(z) - t)", "logits"});
  return rows;
}

}  // namespace oa::ir
