// Lowering of the Mamba-3 scans: chunk by chunk for whole sequences, token by token for steps and
// short sequences.
//
// Within a chunk everything is a product of small matrices, batched over heads and chunks; between
// chunks a state is carried by a scan over as many invocations as a state has elements. So the work
// is parallel over the whole sequence, and the only serial loop runs over chunks.
#include <algorithm>
#include <utility>

#include "ir/ops/mamba3.h"
#include "ir/ops/matmul.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Sequences up to this length are scanned token by token: one dispatch instead of eight.
constexpr uint64_t kShortLength = 16;
// Tokens of a chunk of the running sums of angles.
constexpr uint64_t kAngleChunk = 64;

// Loop iterations of step.comp for one token, ends included: rows of the state, their elements, and
// two loops over ranks within each.
uint64_t StepIterations(const ScanConfig& s, const Kernel& kernel) {
  const uint64_t lanes = kernel.local_size[0];
  const uint64_t row = s.width * (2 * s.ranks + 3) + 5 * s.ranks;
  return CeilDiv(s.depth, lanes) * row + CeilDiv(128, lanes) * 8 + 16 +
         CeilDiv(s.ranks * (s.depth + s.width), lanes) * 4;
}

struct StepStates {
  BufferSlice ssm, angle, k, v;
};

absl::Status EmitSteps(LowerContext& ctx, const ScanConfig& s, const ScanOperands& operands,
                       const StepStates& states, bool wrapped) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("mamba3_step_f32"));
  KernelCall call(kernel);
  for (const BufferSlice& operand : operands) call.Buffer(operand);
  call.Buffer(ctx.out()).Buffer(states.ssm).Buffer(states.angle).Buffer(states.k).Buffer(states.v);
  call.U32(s.batch).U32(s.length).U32(s.heads).U32(s.groups).U32(s.depth).U32(s.width);
  call.U32(s.angles).U32(s.ranks).F32(kScanNormEpsilon);
  call.Constant("mimo", s.mimo)
      .Constant("has_z", s.has_z)
      .Constant("has_d", s.has_d)
      .Constant("has_norm", s.has_norm)
      .Constant("wrapped", wrapped);
  call.Flops(s.tokens() * s.heads * s.depth * s.width * (6 * s.ranks + 4));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(s.rows(), s.length * StepIterations(s, *kernel)));
  return ctx.Emit(std::move(call.Grid(groups)));
}

// Whether every value of the chunked form has fewer than 2^31 elements, the limit of products.
bool ChunksFit(const ScanConfig& s) {
  const ScanChunks chunks = ChunksOf(s);
  const uint64_t states = CeilDiv(s.depth * s.width, chunks.tokens);
  const uint64_t per_slot =
      std::max({chunks.tokens * s.ranks * s.ranks, states, s.ranks * std::max(s.depth, s.width)});
  return s.rows() * chunks.slots() * per_slot <= INT32_MAX;
}

// Route "sequential"; else by length, and on CPU devices by the loop limit.
bool ScansStepwise(const LowerContext& ctx, const ScanConfig& s, const Kernel& step) {
  if (!ctx.route().empty()) return ctx.route() == "sequential";
  if (s.length > kShortLength) return !ctx.profile().is_cpu && !ChunksFit(s);
  return !ctx.profile().is_cpu || s.length * StepIterations(s, step) <= kLoopBudget;
}

absl::Status EmitStepwise(LowerContext& ctx, const ScanConfig& s) {
  // One buffer for all states, so that one dispatch clears them.
  const uint64_t sizes[] = {s.rows() * s.depth * s.width, s.rows() * s.angles,
                            s.rows() * s.ranks * s.width, s.rows() * s.ranks * s.depth};
  constexpr uint64_t kAlignment = 64;  // floats
  uint64_t total = 0;
  for (uint64_t size : sizes) total += AlignUp(size, kAlignment);
  const BufferSlice all = ctx.Scratch("states", DType::F32, {total});
  OA_RETURN_IF_ERROR(EmitZeros(ctx, all));
  std::array<BufferSlice, 4> slices;
  uint64_t offset = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    slices[i] = {all.buffer, offset, sizes[i] * sizeof(float)};
    offset += AlignUp(sizes[i], kAlignment) * sizeof(float);
  }
  return EmitSteps(ctx, s, ScanOperandsAt(ctx, 0, s), {slices[0], slices[1], slices[2], slices[3]},
                   /*wrapped=*/true);
}

}  // namespace

ScanOperands ScanOperandsAt(const LowerContext& ctx, int first, const ScanConfig& config) {
  ScanOperands operands;
  for (int i = 0; i < ScanOperandCount(config.mimo); ++i) operands[i] = ctx.in(first + i);
  // Flags that are off leave their operands unread.
  if (!config.has_z) operands[kScanZ] = operands[kScanMimoZ] = BufferSlice();
  if (!config.has_d) operands[kScanD] = BufferSlice();
  if (!config.has_norm) operands[kScanNormWeight] = BufferSlice();
  return operands;
}

absl::Status EmitZeros(LowerContext& ctx, BufferSlice slice) {
  const uint64_t count = slice.size_bytes / sizeof(float);
  if (count == 0) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("fill_f32"));
  const uint64_t groups = ctx.StridedGroups(*kernel, count);
  return ctx.Emit(KernelCall(kernel).Buffer(slice).U32(count).F32(0).Grid(groups));
}

// ---- ScanLowering ----

ScanLowering::ScanLowering(LowerContext& ctx, bool mimo, int first_operand)
    : ctx_(ctx),
      config_(ScanConfigOf(ctx.attributes(), mimo)),
      chunks_(ChunksOf(config_, ctx.route())),
      operands_(ScanOperandsAt(ctx, first_operand, config_)) {}

BufferSlice ScanLowering::Scratch(absl::string_view name, const Shape& shape) {
  return ctx_.Scratch(name, DType::F32, shape);
}

BufferSlice ScanLowering::PerSlot(absl::string_view name, const Shape& extents) {
  Shape shape = {config_.rows(), chunks_.slots()};
  shape.insert(shape.end(), extents.begin(), extents.end());
  return Scratch(name, shape);
}

absl::Status ScanLowering::EmitItems(KernelCall call, uint64_t items, uint64_t iterations) {
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx_.StridedGroups(call.kernel(), items, iterations + 1));
  return ctx_.Emit(std::move(call.Grid(groups)));
}

absl::Status ScanLowering::EmitRows(KernelCall call, uint64_t rows, uint64_t iterations) {
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx_.RowGroups(rows, iterations + 1));
  return ctx_.Emit(std::move(call.Grid(groups)));
}

KernelCall& ScanLowering::SetSizes(KernelCall& call, uint64_t extent) const {
  return call.U32(config_.batch).U32(config_.length).U32(config_.heads).U32(extent);
}

absl::StatusOr<BufferSlice> ScanLowering::Multiply(absl::string_view name, const ChunkMatrix& a,
                                                   const ChunkMatrix& b) {
  const auto view = [](const ChunkMatrix& x) {
    MatrixView view = x.transposed ? MatrixView::Transposed(x.slice, x.columns)
                                   : MatrixView::Dense(x.slice, x.columns);
    view.batch_stride = x.rows * x.columns;
    return view;
  };
  Product product;
  product.a = view(a);
  product.b = view(b);
  product.m = a.transposed ? a.columns : a.rows;
  product.k = a.transposed ? a.rows : a.columns;
  product.n = b.transposed ? b.rows : b.columns;
  product.batch = chunks_all();
  product.out = Scratch(name, {product.batch, product.m, product.n});
  OA_RETURN_IF_ERROR(EmitProduct(ctx_, product));
  return product.out;
}

absl::Status ScanLowering::EmitGates() {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_gates_f32"));
  values_.gates = PerSlot("gates", {6});
  KernelCall call(kernel);
  call.Buffer(operands_[kScanAdt]).Buffer(operands_[kScanDt]).Buffer(operands_[kScanTrap]);
  SetSizes(call.Buffer(values_.gates), chunks_.tokens).U32(chunks_.count);
  return EmitItems(std::move(call), chunks_all(), 2 * chunks_.tokens + 2);
}

absl::Status ScanLowering::EmitAnglePass(uint32_t mode, BufferSlice dtheta, BufferSlice carry,
                                         BufferSlice sums) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_angle_sums_f32"));
  const bool backwards = dtheta.size_bytes != 0;
  const uint64_t count = CeilDiv(config_.length, kAngleChunk);
  KernelCall call(kernel);
  if (backwards) {
    call.NullBuffer().NullBuffer().Buffer(dtheta);
  } else {
    call.Buffer(operands_[kScanAngle]).Buffer(operands_[kScanDt]).NullBuffer();
  }
  call.Buffer(mode == 1 ? carry : BufferSlice()).Buffer(mode == 0 ? carry : BufferSlice());
  SetSizes(call.Buffer(sums), config_.angles).U32(kAngleChunk).U32(count);
  call.Constant("mode", mode).Constant("backwards", backwards);
  return EmitItems(std::move(call), config_.rows() * count * config_.angles, kAngleChunk);
}

absl::StatusOr<BufferSlice> ScanLowering::EmitAngleSums(BufferSlice dtheta) {
  const bool backwards = dtheta.size_bytes != 0;
  const BufferSlice sums = Scratch(backwards ? "dtheta_sums" : "theta",
                                   {config_.rows(), config_.length, config_.angles});
  if (config_.angles == 0) return sums;
  const uint64_t count = CeilDiv(config_.length, kAngleChunk);
  BufferSlice carry;
  if (count > 1) {
    carry = Scratch("angle_carry", {config_.rows(), count, config_.angles, 2});
    OA_RETURN_IF_ERROR(EmitAnglePass(0, dtheta, carry, BufferSlice()));
    OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_angle_carry_f32"));
    KernelCall call(kernel);
    call.Buffer(carry).U32(config_.rows()).U32(config_.angles).U32(count);
    call.Constant("backwards", backwards);
    OA_RETURN_IF_ERROR(EmitItems(std::move(call), config_.rows() * config_.angles, count));
  }
  OA_RETURN_IF_ERROR(EmitAnglePass(1, dtheta, carry, sums));
  return sums;
}

absl::Status ScanLowering::EmitRotate() {
  OA_ASSIGN_OR_RETURN(values_.theta, EmitAngleSums(BufferSlice()));
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_rotate_f32"));
  values_.q = PerSlot("q", {config_.ranks, config_.width});
  values_.k = PerSlot("k", {config_.ranks, config_.width});
  KernelCall call(kernel);
  call.Buffer(operands_[kScanC]).Buffer(operands_[kScanB]);
  call.Buffer(operands_[kScanCBias]).Buffer(operands_[kScanBBias]);
  call.Buffer(values_.theta).Buffer(values_.q).Buffer(values_.k);
  SetSizes(call, config_.groups).U32(config_.width).U32(config_.angles).U32(config_.ranks);
  call.U32(chunks_.slots());
  return EmitItems(std::move(call), config_.rows() * chunks_.slots() * CeilDiv(config_.width, 2),
                   config_.ranks);
}

absl::Status ScanLowering::EmitProject() {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_project_f32"));
  const bool want_exit = chunks_.carried();
  values_.v = PerSlot("v", {config_.ranks, config_.depth});
  if (want_exit) values_.v_exit = PerSlot("v_exit", {config_.ranks, config_.depth});
  KernelCall call(kernel);
  call.Buffer(operands_[kScanX]).Buffer(operands_[kScanMimoX]);
  call.Buffer(want_exit ? values_.gates : BufferSlice());
  call.Buffer(values_.v).Buffer(values_.v_exit);
  SetSizes(call, config_.depth).U32(config_.ranks).U32(chunks_.slots());
  call.Constant("mimo", config_.mimo).Constant("want_exit", want_exit);
  return EmitItems(std::move(call), config_.rows() * chunks_.slots() * config_.depth,
                   config_.ranks);
}

absl::Status ScanLowering::EmitStateScan(BufferSlice states, bool backwards) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_state_scan_f32"));
  const uint64_t elements = config_.depth * config_.width;
  KernelCall call(kernel);
  call.Buffer(states).Buffer(values_.gates).U32(config_.rows()).U32(chunks_.count);
  call.U32(chunks_.tokens).U32(elements).Constant("backwards", backwards);
  return EmitItems(std::move(call), config_.rows() * elements, chunks_.count);
}

absl::Status ScanLowering::EmitChunks() {
  OA_RETURN_IF_ERROR(EmitGates());
  OA_RETURN_IF_ERROR(EmitRotate());
  OA_RETURN_IF_ERROR(EmitProject());
  if (chunks_.carried()) {
    const ChunkMatrix v_exit = {values_.v_exit, side(), config_.depth};
    OA_ASSIGN_OR_RETURN(values_.entry_states, Multiply("states", v_exit.Transposed(), K()));
    OA_RETURN_IF_ERROR(EmitStateScan(values_.entry_states, /*backwards=*/false));
  }
  OA_ASSIGN_OR_RETURN(values_.products, Multiply("products", Q(), K().Transposed()));
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_weights_f32"));
  values_.weighted = Scratch("weighted", {chunks_all(), side(), side()});
  KernelCall call(kernel);
  call.Buffer(values_.products).Buffer(values_.gates).Buffer(values_.weighted);
  call.U32(chunks_all()).U32(chunks_.tokens).U32(config_.ranks);
  return EmitItems(std::move(call), chunks_all() * side() * side(), 0);
}

absl::Status ScanLowering::EmitReadouts() {
  OA_ASSIGN_OR_RETURN(values_.own, Multiply("own", Square(values_.weighted), V()));
  if (!chunks_.carried()) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(values_.entry,
                      Multiply("entry", Q(), State(values_.entry_states).Transposed()));
  return absl::OkStatus();
}

void ScanLowering::SetReadout(KernelCall& call) const {
  call.Constant("mimo", config_.mimo)
      .Constant("has_z", config_.has_z)
      .Constant("has_d", config_.has_d)
      .Constant("has_norm", config_.has_norm)
      .Constant("has_entry", chunks_.carried());
}

absl::Status ScanLowering::EmitReadout(BufferSlice y) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx_.Select("mamba3_readout_f32"));
  KernelCall call(kernel);
  call.Buffer(values_.own).Buffer(values_.entry);
  call.Buffer(config_.has_d ? values_.v : BufferSlice());
  call.Buffer(chunks_.carried() ? values_.gates : BufferSlice());
  for (int i : {kScanD, kScanZ, kScanMimoZ, kScanMimoO, kScanNormWeight}) call.Buffer(operands_[i]);
  SetSizes(call.Buffer(y), config_.depth).U32(config_.ranks).U32(chunks_.slots());
  SetReadout(call.F32(kScanNormEpsilon));
  return EmitRows(std::move(call), config_.tokens() * config_.heads,
                  3 * config_.ranks * CeilDiv(config_.depth, kernel->local_size[0]) + 32);
}

// ---- Operators ----

template <bool kMimo>
absl::Status LowerScan(LowerContext& ctx) {
  const ScanConfig config = ScanConfigOf(ctx.attributes(), kMimo);
  OA_ASSIGN_OR_RETURN(const Kernel* step, ctx.Select("mamba3_step_f32"));
  if (ScansStepwise(ctx, config, *step)) return EmitStepwise(ctx, config);
  ScanLowering scan(ctx, kMimo, 0);
  OA_RETURN_IF_ERROR(scan.EmitChunks());
  OA_RETURN_IF_ERROR(scan.EmitReadouts());
  return scan.EmitReadout(ctx.out());
}

// (ssm_state, angle_state, k_state, v_state, operands..) -> (y, the four states).
template <bool kMimo>
absl::Status LowerScanStep(LowerContext& ctx) {
  const ScanConfig config = ScanConfigOf(ctx.attributes(), kMimo);
  const StepStates states = {ctx.out(1), ctx.out(2), ctx.out(3), ctx.out(4)};
  return EmitSteps(ctx, config, ScanOperandsAt(ctx, 4, config), states, /*wrapped=*/false);
}

template absl::Status LowerScan<false>(LowerContext&);
template absl::Status LowerScan<true>(LowerContext&);
template absl::Status LowerScanStep<false>(LowerContext&);
template absl::Status LowerScanStep<true>(LowerContext&);

}  // namespace oa::ir
