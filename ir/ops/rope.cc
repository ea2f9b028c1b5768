// rope: rotary position embedding on split halves; a part of the attention family.
#include <cmath>
#include <utility>

#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/rows.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr int64_t kMaxU32 = UINT32_MAX;

// Tokens of one sequence: all of them, or those of attribute 'sequence_length' in rope_sequences.
uint64_t Period(const Attributes& attributes, uint64_t tokens, bool sequences) {
  return sequences ? static_cast<uint64_t>(attributes.i64("sequence_length")) : tokens;
}

template <bool kSequences>
absl::Status InferRope(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  const int64_t heads = ctx.attributes().i64("num_heads");
  const int64_t dim = ctx.attributes().i64("head_dim");
  const int64_t offset = ctx.attributes().i64("position_offset");
  const float theta = ctx.attributes().f32("theta_base");
  const uint64_t tokens = ctx.shape(0)[0], width = ctx.shape(0)[1];
  if (heads < 1 || heads > kMaxU32 || dim < 2 || dim > kMaxU32 || dim % 2 != 0) {
    return ctx.Fail("there must be at least one head of an even width, not ", heads, " of ", dim);
  }
  if (static_cast<uint64_t>(heads) * static_cast<uint64_t>(dim) != width) {
    return ctx.Fail(heads, " heads of ", dim, " do not make up the row width ", width);
  }
  if (!std::isfinite(theta) || theta <= 0) {
    return ctx.Fail("attribute 'theta_base' is ", theta, ", must be finite and positive");
  }
  if (kSequences) {
    const int64_t length = ctx.attributes().i64("sequence_length");
    if (length < 1 || tokens % static_cast<uint64_t>(length) != 0) {
      return ctx.Fail("attribute 'sequence_length' is ", length, ", must divide the ", tokens,
                      " rows");
    }
  }
  const uint64_t last = Period(ctx.attributes(), tokens, kSequences) - 1;
  if (offset < 0 || offset > kMaxU32 || last + static_cast<uint64_t>(offset) > kMaxU32) {
    return ctx.Fail("attribute 'position_offset' is ", offset, ", positions must be from 0 to ",
                    kMaxU32);
  }
  return ctx.AddResult(DType::F32, ctx.shape(0));
}

absl::Status AdjointRope(AdjointContext& ctx) { return ctx.EmitBackward({ctx.grad()}); }

template <bool kSequences, int kDirection>
absl::Status LowerRope(LowerContext& ctx) {
  const Attributes& attributes = ctx.attributes();
  const uint64_t tokens = ctx.input_shape(0)[0];
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("rope_f32"));
  return ctx.Emit(KernelCall(kernel)
                      .Buffer(ctx.in(0))
                      .Buffer(ctx.out())
                      .U32(tokens)
                      .U32(static_cast<uint64_t>(attributes.i64("num_heads")))
                      .U32(static_cast<uint64_t>(attributes.i64("head_dim")) / 2)
                      .U32(Period(attributes, tokens, kSequences))
                      .U32(static_cast<uint64_t>(attributes.i64("position_offset")))
                      .F32(attributes.f32("theta_base"))
                      .F32(kDirection)
                      .Flops(50 * ctx.output_count_of())
                      .Grid(ctx.StridedGroups(*kernel, ctx.output_count_of() / 2)));
}

// The operator and its adjoint.
template <bool kSequences>
void AddRope(RowText text, std::vector<OpDef>& rows) {
  OpDef row = MakeRow(std::move(text), {Operand("x")}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("num_heads"), IntegerAttribute("head_dim"),
                    RealAttribute("theta_base"), IntegerAttribute("position_offset")};
  row.rejects =
      "x not of rank 2 or not num_heads * head_dim wide; no heads; an odd or zero head_dim; a "
      "theta_base not finite or not positive; a position above 2^32-1";
  row.notes =
      "Positions run over the whole first extent: a batch of packed sequences needs one call each, "
      "or rope_sequences. Angles are F32: 4e-7 times the position.";
  if (kSequences) {
    row.attributes.push_back(IntegerAttribute("sequence_length"));
    row.rejects += "; rows that sequence_length does not divide";
    row.notes = "rope of every sequence of a packed batch in one call.";
  }
  row.kernels = {"rope_f32"};
  row.infer = InferRope<kSequences>;
  row.adjoint = AdjointRope;
  row.lower = LowerRope<kSequences, 1>;
  rows.push_back(row);

  OpDef backward = BackwardRow(row, {"dx = g rotated back by the same angles", "g, dx [T, H*Dh]"},
                               {Operand("g")}, {{.name = "dx"}});
  backward.kernels = {"rope_f32"};
  backward.lower = LowerRope<kSequences, -1>;
  rows.push_back(backward);
}

}  // namespace

std::vector<OpDef> RopeOps() {
  std::vector<OpDef> rows;
  AddRope<false>({"rope", "attention",
                  "each pair (x[t, h, i], x[t, h, i + Dh/2]) rotated by (t + position_offset) * "
                  "theta_base^(-2i/Dh)",
                  "x, y [T, H*Dh]"},
                 rows);
  AddRope<true>(
      {"rope_sequences", "attention", "rope with positions t mod sequence_length + position_offset",
       "x, y [T, H*Dh], T a multiple of sequence_length"},
      rows);
  return rows;
}

}  // namespace oa::ir
