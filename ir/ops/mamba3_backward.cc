// The backward pass of the Mamba-3 scans in the chunked form: what the forward pass computed is
// computed again, then every product of it has its two gradient products, and a second scan carries
// the gradients of states from the last chunk to the first.
#include <utility>

#include "ir/ops/mamba3.h"
#include "ir/ops/matmul.h"
#include "ir/ops/reduce_lowering.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

class ScanBackward {
 public:
  ScanBackward(LowerContext& ctx, bool mimo)
      : ctx_(ctx), scan_(ctx, mimo, /*first_operand=*/1), s_(scan_.config()) {}

  absl::Status Emit();

 private:
  // Result `i` in operand order, or a temporary where nobody wants it.
  BufferSlice OutOr(ScanOperand i, absl::string_view name, const Shape& shape);
  bool Wants(ScanOperand i) const { return ctx_.has_output(i); }
  absl::Status ZeroUnused();

  absl::Status EmitReadoutBackward();
  absl::Status EmitStates();
  absl::Status EmitPairs();
  absl::Status EmitRotateBackward();
  absl::Status EmitGatesBackward();
  absl::Status EmitInputBackward();
  absl::Status EmitSums();
  // Sums `x` [tokens, heads, ranks, width] over the heads of each group.
  absl::Status EmitHeadSum(BufferSlice x, uint64_t ranks, uint64_t groups, uint64_t width,
                           BufferSlice y);
  absl::Status EmitTokenSum(ScanOperand i, BufferSlice terms, uint64_t columns);

  BufferSlice carried(BufferSlice slice) const {
    return scan_.chunks().carried() ? slice : BufferSlice();
  }
  ChunkMatrix Dpre() const { return {dpre_, scan_.side(), s_.depth}; }

  LowerContext& ctx_;
  ScanLowering scan_;
  const ScanConfig s_;
  BufferSlice dpre_, dpre_entry_;
  BufferSlice d_terms_, mimo_x_terms_, mimo_z_terms_, mimo_o_terms_, norm_terms_;
  BufferSlice exit_states_;  // gradients of the states behind each chunk
  BufferSlice across_;       // their products with the entry states
  BufferSlice dweighted_;    // the gradient of q k^T
  BufferSlice crossing_, own_, kept_;
  BufferSlice dtheta_, from_entry_, to_exit_, dc_, db_, dangle_;
};

BufferSlice ScanBackward::OutOr(ScanOperand i, absl::string_view name, const Shape& shape) {
  return Wants(i) ? ctx_.out(i) : scan_.Scratch(name, shape);
}

// Gradients of operands that a flag leaves unread are zero.
absl::Status ScanBackward::ZeroUnused() {
  const auto zero = [&](ScanOperand i) {
    return Wants(i) ? EmitZeros(ctx_, ctx_.out(i)) : absl::OkStatus();
  };
  if (!s_.has_z) OA_RETURN_IF_ERROR(zero(kScanZ));
  if (!s_.has_d) OA_RETURN_IF_ERROR(zero(kScanD));
  if (s_.mimo && !s_.has_z) OA_RETURN_IF_ERROR(zero(kScanMimoZ));
  if (s_.mimo && !s_.has_norm) OA_RETURN_IF_ERROR(zero(kScanNormWeight));
  return absl::OkStatus();
}

absl::Status ScanBackward::EmitReadoutBackward() {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_readout_backward_f32"));
  const bool want_d = s_.has_d && Wants(kScanD);
  const Shape per_token = {s_.tokens(), s_.heads, s_.ranks, s_.depth};
  dpre_ = scan_.PerSlot("dpre", {s_.ranks, s_.depth});
  if (scan_.chunks().carried()) dpre_entry_ = scan_.PerSlot("dpre_entry", {s_.ranks, s_.depth});
  if (want_d) d_terms_ = scan_.Scratch("d_terms", {s_.tokens(), s_.heads});
  if (s_.mimo) mimo_o_terms_ = scan_.Scratch("mimo_o_terms", per_token);
  if (s_.mimo && s_.has_z) mimo_z_terms_ = scan_.Scratch("mimo_z_terms", per_token);
  if (s_.has_norm) norm_terms_ = scan_.Scratch("norm_terms", {s_.tokens(), s_.heads, s_.depth});
  const ScanValues& values = scan_.values();
  KernelCall call(kernel);
  call.Buffer(values.own).Buffer(values.entry);
  call.Buffer(s_.has_d ? values.v : BufferSlice()).Buffer(carried(values.gates));
  for (int i : {kScanD, kScanZ, kScanMimoZ, kScanMimoO, kScanNormWeight}) {
    call.Buffer(scan_.operands()[i]);
  }
  call.Buffer(ctx_.in(0)).Buffer(dpre_).Buffer(dpre_entry_);
  call.Buffer(s_.has_z ? OutOr(kScanZ, "dz", {s_.tokens(), s_.heads, s_.depth}) : BufferSlice());
  call.Buffer(d_terms_).Buffer(mimo_z_terms_).Buffer(mimo_o_terms_).Buffer(norm_terms_);
  scan_.SetSizes(call, s_.depth).U32(s_.ranks).U32(scan_.chunks().slots());
  scan_.SetReadout(call.F32(kScanNormEpsilon));
  call.Constant("want_d", want_d);
  return scan_.EmitRows(std::move(call), s_.rows() * scan_.chunks().slots(),
                        4 * s_.ranks * CeilDiv(s_.depth, kernel->local_size[0]) + 32);
}

absl::Status ScanBackward::EmitStates() {
  if (!scan_.chunks().carried()) return absl::OkStatus();
  const ChunkMatrix dpre_entry = {dpre_entry_, scan_.side(), s_.depth};
  OA_ASSIGN_OR_RETURN(exit_states_,
                      scan_.Multiply("exit_states", dpre_entry.Transposed(), scan_.Q()));
  OA_RETURN_IF_ERROR(scan_.EmitStateScan(exit_states_, /*backwards=*/true));
  across_ = scan_.Scratch("across", {scan_.chunks_all()});
  return EmitRowDot(ctx_, scan_.values().entry_states, exit_states_, scan_.chunks_all(),
                    s_.depth * s_.width, across_);
}

absl::Status ScanBackward::EmitPairs() {
  OA_ASSIGN_OR_RETURN(dweighted_, scan_.Multiply("dweighted", Dpre(), scan_.V().Transposed()));
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_pairs_f32"));
  crossing_ = scan_.PerSlot("crossing", {scan_.chunks().tokens});
  own_ = scan_.PerSlot("own_weight", {});
  kept_ = scan_.PerSlot("kept", {});
  KernelCall call(kernel);
  call.Buffer(scan_.values().products).Buffer(scan_.values().gates).Buffer(dweighted_);
  call.Buffer(crossing_).Buffer(own_).Buffer(kept_);
  call.U32(scan_.chunks_all()).U32(scan_.chunks().tokens).U32(s_.ranks);
  // Lanes in lock step pass through all three branches, two nested loops each, at every token and
  // once more at the end.
  const uint64_t block = s_.ranks * (s_.ranks + 2) + 2;
  return scan_.EmitItems(std::move(call), s_.rows() * scan_.chunks().slots(),
                         scan_.chunks().tokens * (1 + 3 * block) + 7);
}

absl::Status ScanBackward::EmitRotateBackward() {
  const ChunkMatrix dweighted = scan_.Square(dweighted_);
  OA_ASSIGN_OR_RETURN(const BufferSlice dq, scan_.Multiply("dq", dweighted, scan_.K()));
  OA_ASSIGN_OR_RETURN(const BufferSlice dk,
                      scan_.Multiply("dk", dweighted.Transposed(), scan_.Q()));
  BufferSlice dq_entry, dk_exit;
  if (scan_.chunks().carried()) {
    OA_ASSIGN_OR_RETURN(
        dq_entry, scan_.Multiply("dq_entry", Dpre(), scan_.State(scan_.values().entry_states)));
    OA_ASSIGN_OR_RETURN(dk_exit, scan_.Multiply("dk_exit", scan_.V(), scan_.State(exit_states_)));
    from_entry_ = scan_.PerSlot("from_entry", {});
    to_exit_ = scan_.PerSlot("to_exit", {});
  }
  const Shape per_token = {s_.tokens(), s_.heads, s_.ranks, s_.width};
  // Without ranks and groups the result needs no sum over heads.
  const bool direct = s_.ranks == 1 && s_.groups == s_.heads;
  dtheta_ = scan_.Scratch("dtheta", {s_.rows(), s_.length, s_.angles});
  dc_ = direct ? OutOr(kScanC, "dc", per_token) : scan_.Scratch("dc", per_token);
  db_ = direct ? OutOr(kScanB, "db", per_token) : scan_.Scratch("db", per_token);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_rotate_backward_f32"));
  const ScanValues& values = scan_.values();
  KernelCall call(kernel);
  call.Buffer(values.q).Buffer(values.k).Buffer(dq).Buffer(dk).Buffer(dq_entry).Buffer(dk_exit);
  call.Buffer(carried(values.gates)).Buffer(values.theta).Buffer(dtheta_);
  call.Buffer(from_entry_).Buffer(to_exit_).Buffer(dc_).Buffer(db_);
  scan_.SetSizes(call, s_.width).U32(s_.angles).U32(s_.ranks).U32(scan_.chunks().slots());
  call.Constant("has_entry", scan_.chunks().carried());
  return scan_.EmitRows(std::move(call), s_.rows() * s_.length,
                        CeilDiv(CeilDiv(s_.width, 2), kernel->local_size[0]) * (s_.ranks + 2) + 2);
}

absl::Status ScanBackward::EmitGatesBackward() {
  BufferSlice theta_sums;
  if (s_.angles != 0) {
    OA_ASSIGN_OR_RETURN(theta_sums, scan_.EmitAngleSums(dtheta_));
  }
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_gates_backward_f32"));
  const Shape per_token = {s_.tokens(), s_.heads};
  dangle_ = scan_.Scratch("dangle", {s_.tokens(), s_.heads, s_.angles});
  KernelCall call(kernel);
  for (int i : {kScanDt, kScanTrap, kScanAngle}) call.Buffer(scan_.operands()[i]);
  call.Buffer(theta_sums).Buffer(carried(scan_.values().gates)).Buffer(crossing_);
  call.Buffer(own_).Buffer(kept_).Buffer(from_entry_).Buffer(to_exit_).Buffer(across_);
  call.Buffer(OutOr(kScanAdt, "dadt", per_token)).Buffer(OutOr(kScanDt, "ddt", per_token));
  call.Buffer(OutOr(kScanTrap, "dtrap", per_token)).Buffer(dangle_);
  scan_.SetSizes(call, s_.angles).U32(scan_.chunks().tokens).U32(scan_.chunks().count);
  call.Constant("has_entry", scan_.chunks().carried());
  return scan_.EmitItems(std::move(call), s_.rows() * s_.length,
                         2 * scan_.chunks().tokens + s_.angles + 3);
}

absl::Status ScanBackward::EmitInputBackward() {
  if (!Wants(kScanX) && !(s_.mimo && Wants(kScanMimoX))) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(
      const BufferSlice dv_own,
      scan_.Multiply("dv", scan_.Square(scan_.values().weighted).Transposed(), Dpre()));
  BufferSlice dv_exit;
  if (scan_.chunks().carried()) {
    OA_ASSIGN_OR_RETURN(
        dv_exit, scan_.Multiply("dv_exit", scan_.K(), scan_.State(exit_states_).Transposed()));
  }
  if (s_.mimo) {
    mimo_x_terms_ = scan_.Scratch("mimo_x_terms", {s_.tokens(), s_.heads, s_.ranks, s_.depth});
  }
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_input_backward_f32"));
  KernelCall call(kernel);
  call.Buffer(s_.mimo ? scan_.operands()[kScanX] : BufferSlice());
  call.Buffer(scan_.operands()[kScanMimoX]).Buffer(scan_.operands()[kScanD]);
  call.Buffer(carried(scan_.values().gates)).Buffer(s_.has_d ? dpre_ : BufferSlice());
  call.Buffer(dv_own).Buffer(dv_exit);
  call.Buffer(OutOr(kScanX, "dx", {s_.tokens(), s_.heads, s_.depth})).Buffer(mimo_x_terms_);
  scan_.SetSizes(call, s_.depth).U32(s_.ranks).U32(scan_.chunks().slots());
  call.Constant("mimo", s_.mimo)
      .Constant("has_d", s_.has_d)
      .Constant("has_entry", scan_.chunks().carried());
  return scan_.EmitItems(std::move(call), s_.tokens() * s_.heads * s_.depth, s_.ranks);
}

absl::Status ScanBackward::EmitHeadSum(BufferSlice x, uint64_t ranks, uint64_t groups,
                                       uint64_t width, BufferSlice y) {
  if (width == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_head_sum_f32"));
  KernelCall call(kernel);
  call.Buffer(x).Buffer(y).U32(s_.tokens()).U32(s_.heads).U32(ranks).U32(groups).U32(width);
  return scan_.EmitItems(std::move(call), s_.tokens() * ranks * groups * width, s_.heads / groups);
}

absl::Status ScanBackward::EmitTokenSum(ScanOperand i, BufferSlice terms, uint64_t columns) {
  if (!Wants(i)) return absl::OkStatus();
  return EmitColumnSum(ctx_, terms, s_.tokens(), columns, ctx_.out(i));
}

absl::Status ScanBackward::EmitSums() {
  const bool direct = s_.ranks == 1 && s_.groups == s_.heads;
  if (Wants(kScanC) && !direct) {
    OA_RETURN_IF_ERROR(EmitHeadSum(dc_, s_.ranks, s_.groups, s_.width, ctx_.out(kScanC)));
  }
  if (Wants(kScanB) && !direct) {
    OA_RETURN_IF_ERROR(EmitHeadSum(db_, s_.ranks, s_.groups, s_.width, ctx_.out(kScanB)));
  }
  if (Wants(kScanAngle)) {
    OA_RETURN_IF_ERROR(EmitHeadSum(dangle_, 1, 1, s_.angles, ctx_.out(kScanAngle)));
  }
  const uint64_t vectors = s_.heads * s_.ranks * s_.width;
  const uint64_t projections = s_.heads * s_.ranks * s_.depth;
  OA_RETURN_IF_ERROR(EmitTokenSum(kScanCBias, dc_, vectors));
  OA_RETURN_IF_ERROR(EmitTokenSum(kScanBBias, db_, vectors));
  if (s_.has_d) OA_RETURN_IF_ERROR(EmitTokenSum(kScanD, d_terms_, s_.heads));
  if (!s_.mimo) return absl::OkStatus();
  OA_RETURN_IF_ERROR(EmitTokenSum(kScanMimoX, mimo_x_terms_, projections));
  OA_RETURN_IF_ERROR(EmitTokenSum(kScanMimoO, mimo_o_terms_, projections));
  if (s_.has_z) OA_RETURN_IF_ERROR(EmitTokenSum(kScanMimoZ, mimo_z_terms_, projections));
  if (!s_.has_norm) return absl::OkStatus();
  return EmitTokenSum(kScanNormWeight, norm_terms_, s_.heads * s_.depth);
}

absl::Status ScanBackward::Emit() {
  OA_RETURN_IF_ERROR(ZeroUnused());
  OA_RETURN_IF_ERROR(scan_.EmitChunks());
  OA_RETURN_IF_ERROR(scan_.EmitReadouts());
  OA_RETURN_IF_ERROR(EmitReadoutBackward());
  OA_RETURN_IF_ERROR(EmitStates());
  OA_RETURN_IF_ERROR(EmitPairs());
  OA_RETURN_IF_ERROR(EmitRotateBackward());
  OA_RETURN_IF_ERROR(EmitGatesBackward());
  OA_RETURN_IF_ERROR(EmitInputBackward());
  return EmitSums();
}

}  // namespace

template <bool kMimo>
absl::Status LowerScanBackward(LowerContext& ctx) {
  return ScanBackward(ctx, kMimo).Emit();
}

template absl::Status LowerScanBackward<false>(LowerContext&);
template absl::Status LowerScanBackward<true>(LowerContext&);

}  // namespace oa::ir
