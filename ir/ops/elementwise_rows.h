// Operator rows made from one line each: unary operators that are one instruction of the
// elementwise machine, both ways. Shared by activation.cc and elementwise.cc. Internal to ir/ops.
#ifndef OA_IR_OPS_ELEMENTWISE_ROWS_H_
#define OA_IR_OPS_ELEMENTWISE_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/elementwise.h"
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {

using AdjointFunction = absl::Status (*)(AdjointContext&);

// What a backward row reads besides the gradient.
enum class Saves { kInput, kOutput };

// The words of a unary operator.
struct UnaryText {
  const char* name;
  const char* equation;
  const char* derivative;        // equation of the backward row; unused where there is none
  const char* scalar = nullptr;  // its f32 attribute
};

// The one f32 attribute of an elementwise row, 0 when it has none.
inline float EwScalar(const Attributes& attributes) {
  return attributes.empty() ? 0 : attributes.all()[0].real;
}

// One F32 result shaped like operand 0; every further operand has that shape too.
inline absl::Status InferSameShape(InferContext& ctx) {
  for (int i = 1; i < ctx.operand_count(); ++i) OA_RETURN_IF_ERROR(ctx.RequireSameShape(i, 0));
  return ctx.AddResult(DType::F32, ctx.shape(0));
}

// y = op(x, scalar).
template <uint8_t kOpcode>
absl::Status LowerUnary(LowerContext& ctx) {
  EwBuilder b(ctx.output_count_of());
  const EwBuilder::Reg x = b.Input(ctx.Ew(0));
  b.Output(b.Op(kOpcode, x, EwScalar(ctx.attributes())), ctx.out());
  return ctx.Emit(b.Build());
}

// dx = op(saved, g, scalar), operands (g, saved).
template <uint8_t kOpcode>
absl::Status LowerUnaryBackward(LowerContext& ctx) {
  EwBuilder b(ctx.output_count_of());
  const EwBuilder::Reg g = b.Input(ctx.Ew(0));
  const EwBuilder::Reg saved = b.Input(ctx.Ew(1));
  b.Output(b.Op2(kOpcode, saved, g, EwScalar(ctx.attributes())), ctx.out());
  return ctx.Emit(b.Build());
}

template <Saves kSaves>
absl::Status AdjointUnary(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), kSaves == Saves::kInput ? ctx.input(0) : ctx.output()});
}

// The two families name their operand differently.
struct UnaryFamily {
  const char* name;
  const char* operand;
};

// A row that adds nothing to the template but words.
inline OpDef UnaryRow(const UnaryFamily& family, const UnaryText& text) {
  OpDef row = MakeRow(
      {text.name, family.name, text.equation, std::string(family.operand) + " [..], y [..]"},
      {Operand(family.operand)}, {{.name = "y"}});
  if (text.scalar != nullptr) row.attributes = {RealAttribute(text.scalar)};
  row.allow_empty = true;
  row.rejects = kNothingMore;
  row.infer = InferSameShape;
  row.kernels = {kElementwise};
  return row;
}

// A forward row whose adjoint is composed of other operators.
template <uint8_t kForward>
void AddUnary(std::vector<OpDef>& rows, const UnaryFamily& family, const UnaryText& text,
              AdjointFunction adjoint) {
  OpDef row = UnaryRow(family, text);
  row.adjoint = adjoint;
  row.lower = LowerUnary<kForward>;
  rows.push_back(std::move(row));
}

// A forward row and its backward row.
template <uint8_t kForward, uint8_t kBackward, Saves kSaves>
void AddUnary(std::vector<OpDef>& rows, const UnaryFamily& family, const UnaryText& text) {
  AddUnary<kForward>(rows, family, text, AdjointUnary<kSaves>);
  const char* saved = kSaves == Saves::kInput ? family.operand : "y";
  OpDef row = BackwardRow(rows.back(),
                          {text.derivative, std::string("g [..], ") + saved + " [..], dx [..]"},
                          {Operand("g"), Operand(saved)}, {{.name = "dx"}});
  row.lower = LowerUnaryBackward<kBackward>;
  row.kernels = {kElementwise};
  rows.push_back(std::move(row));
}

}  // namespace oa::ir

#endif  // OA_IR_OPS_ELEMENTWISE_ROWS_H_
