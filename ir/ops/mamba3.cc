// Mamba-3: selective scans over whole sequences (single-input and multi-input), one token at a time
// from explicit states, and the preprocessing of their packed projection. Lahoti et al. 2025; the
// lowering is the chunk-parallel form, "state space duality", of Dao and Gu 2024.
#include "ir/ops/mamba3.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/ops/families.h"
#include "ir/ops/matmul.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr uint64_t kMaxExtent = 128;  // of head_dim and state_size
constexpr uint64_t kMaxAngles = 64;
constexpr uint64_t kMaxRanks = 8;
constexpr uint64_t kMaxState = 4096;  // head_dim * state_size of multi-input scans
constexpr uint64_t kMaxU32 = 0xffffffff;
constexpr int kStates = 4;

constexpr const char* kOperandNames[] = {"c",  "b",      "x",      "z",      "adt",
                                         "dt", "trap",   "angle",  "c_bias", "b_bias",
                                         "d",  "mimo_x", "mimo_z", "mimo_o", "norm_weight"};

// ---- Validation ----

absl::Status CheckCounts(const InferContext& ctx, const ScanConfig& s) {
  const bool empty = s.batch == 0 || s.length == 0 || s.heads == 0 || s.depth == 0 || s.width == 0;
  if (empty) {
    return ctx.Fail(
        "batch_size, sequence_length, num_heads, head_dim and state_size must not be 0");
  }
  if (s.heads % s.groups != 0) {
    return ctx.Fail("num_groups ", s.groups, " does not divide num_heads ", s.heads);
  }
  if (s.depth > kMaxExtent) return ctx.Fail("head_dim is ", s.depth, ", the limit is ", kMaxExtent);
  if (s.width > kMaxExtent) {
    return ctx.Fail("state_size is ", s.width, ", the limit is ", kMaxExtent);
  }
  if (s.angles > kMaxAngles || 2 * s.angles > s.width) {
    return ctx.Fail("num_rope_angles is ", s.angles, ", the limit is ", kMaxAngles,
                    " and half of state_size ", s.width);
  }
  if (s.rows() > kMaxU32) return ctx.Fail("batch_size * num_heads exceeds 2^32-1");
  return absl::OkStatus();
}

absl::Status CheckGeometry(const InferContext& ctx, const ScanConfig& s) {
  OA_RETURN_IF_ERROR(CheckCounts(ctx, s));
  if (!s.mimo) {
    if (s.ranks != 1) return ctx.Fail("mimo_rank is ", s.ranks, ", must be 1");
    if (s.has_norm) return ctx.Fail("has_output_norm must be false: only mamba3_mimo has a norm");
    return absl::OkStatus();
  }
  if (s.depth * s.width > kMaxState) {
    return ctx.Fail("head_dim * state_size is ", s.depth * s.width, ", the limit is ", kMaxState);
  }
  if (s.ranks == 0 || s.ranks > kMaxRanks) {
    return ctx.Fail("mimo_rank is ", s.ranks, ", must be from 1 to ", kMaxRanks);
  }
  return absl::OkStatus();
}

Shape OperandShape(const ScanConfig& s, int operand) {
  switch (operand) {
    case kScanC:
    case kScanB:
      return {s.batch, s.length, s.ranks * s.groups, s.width};
    case kScanX:
    case kScanZ:
      return {s.batch, s.length, s.heads, s.depth};
    case kScanAdt:
    case kScanDt:
    case kScanTrap:
      return {s.batch, s.length, s.heads};
    case kScanAngle:
      return {s.batch, s.length, s.angles};
    case kScanCBias:
    case kScanBBias:
      return s.mimo ? Shape{s.heads, s.ranks, s.width} : Shape{s.heads, s.width};
    case kScanD:
      return {s.heads};
    case kScanNormWeight:
      return {s.heads, s.depth};
    default:
      return {s.heads, s.ranks, s.depth};  // the projections
  }
}

Shape StateShape(const ScanConfig& s, int state) {
  switch (state) {
    case 0:
      return {s.batch, s.heads, s.depth, s.width};
    case 1:
      return {s.batch, s.heads, s.angles};
    case 2:
      return s.mimo ? Shape{s.batch, s.heads, s.ranks, s.width} : Shape{s.batch, s.heads, s.width};
    default:
      return s.mimo ? Shape{s.batch, s.heads, s.ranks, s.depth} : Shape{s.batch, s.heads, s.depth};
  }
}

// Geometry and operands of any of the operators, the first operand at input `first`.
absl::StatusOr<ScanConfig> CheckScan(const InferContext& ctx, bool mimo, int first) {
  const ScanConfig s = ScanConfigOf(ctx.attributes(), mimo);
  OA_RETURN_IF_ERROR(CheckGeometry(ctx, s));
  for (int i = 0; i < ScanOperandCount(mimo); ++i) {
    OA_RETURN_IF_ERROR(ctx.RequireShape(first + i, OperandShape(s, i)));
  }
  return s;
}

template <bool kMimo>
absl::Status InferScan(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ScanConfig s, CheckScan(ctx, kMimo, 0));
  return ctx.AddResult(DType::F32, OperandShape(s, kScanX));
}

template <bool kMimo>
absl::Status InferStep(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ScanConfig s, CheckScan(ctx, kMimo, kStates));
  if (s.length != 1) return ctx.Fail("sequence_length is ", s.length, ", a step takes 1");
  for (int i = 0; i < kStates; ++i) OA_RETURN_IF_ERROR(ctx.RequireShape(i, StateShape(s, i)));
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, OperandShape(s, kScanX)));
  for (int i = 0; i < kStates; ++i) ctx.AddInPlace(i);
  return absl::OkStatus();
}

// Whether every temporary and every final sum of the backward pass can be indexed in 32 bits.
bool BackwardFits(const ScanConfig& s) {
  const ScanChunks chunks = ChunksOf(s);
  const uint64_t side = chunks.tokens * s.ranks;
  const auto fits = [](std::initializer_list<uint64_t> extents) {
    uint64_t product = 1;
    for (uint64_t extent : extents) {
      product = CheckedMul(product, extent).value_or(UINT64_MAX);
    }
    return product <= kMaxU32;
  };
  return fits({s.rows(), chunks.count, side, side}) &&
         fits({s.rows(), chunks.count, s.depth, s.width}) &&
         fits({s.rows(), chunks.slots(), s.ranks, std::max(s.depth, s.width)}) &&
         fits({s.rows(), s.length, s.angles}) && fits({s.rows(), chunks.slots(), 6}) &&
         fits({s.rows(), chunks.slots(), chunks.tokens});
}

template <bool kMimo>
absl::Status InferBackward(InferContext& ctx) {
  OA_ASSIGN_OR_RETURN(const ScanConfig s, CheckScan(ctx, kMimo, 1));
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, OperandShape(s, kScanX)));
  if (!BackwardFits(s)) {
    return ctx.Fail(
        "a temporary of the backward pass would have more than 2^32-1 elements; use a "
        "smaller batch or a shorter sequence");
  }
  for (int i = 0; i < ScanOperandCount(kMimo); ++i) {
    OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, OperandShape(s, i)));
  }
  return absl::OkStatus();
}

template <bool kMimo>
absl::Status Adjoint(AdjointContext& ctx) {
  std::vector<ValueId> inputs = {ctx.grad()};
  for (int i = 0; i < ScanOperandCount(kMimo); ++i) inputs.push_back(ctx.input(i));
  return ctx.EmitBackward(inputs);
}

// ---- Rows ----

std::vector<AttributeDef> ConfigAttributes() {
  std::vector<AttributeDef> attributes;
  for (const char* name : {"batch_size", "sequence_length", "num_heads", "num_groups", "head_dim",
                           "state_size", "num_rope_angles", "mimo_rank"}) {
    attributes.push_back({name, AttributeKind::kU32});
  }
  for (const char* name : {"has_z", "has_d", "has_output_norm"}) {
    attributes.push_back({name, AttributeKind::kBool});
  }
  return attributes;
}

constexpr char kSisoShapes[] =
    "c, b [B,L,G,N], x, z [B,L,H,P], adt, dt, trap [B,L,H], angle [B,L,A], c_bias, b_bias [H,N], "
    "d [H], y [B,L,H,P]; P, N <= 128, A <= 64, 2A <= N, H a multiple of G";
constexpr char kMimoShapes[] =
    "c, b [B,L,R*G,N], x, z [B,L,H,P], adt, dt, trap [B,L,H], angle [B,L,A], c_bias, b_bias "
    "[H,R,N], d [H], mimo_x, mimo_z, mimo_o [H,R,P], norm_weight [H,P], y [B,L,H,P]; P, N <= 128, "
    "P*N <= 4096, A <= 64, 2A <= N, R <= 8, H a multiple of G";

constexpr char kSisoRejects[] =
    "a size of 0 (num_rope_angles and num_groups may be); num_groups that do not divide num_heads; "
    "head_dim or state_size above 128; num_rope_angles above 64 or half of state_size; mimo_rank "
    "other than 1; has_output_norm; an operand of another shape";
constexpr char kMimoRejects[] =
    "a size of 0 (num_rope_angles and num_groups may be); num_groups that do not divide num_heads; "
    "head_dim or state_size above 128, their product above 4096; num_rope_angles above 64 or half "
    "of state_size; mimo_rank above 8; an operand of another shape";
constexpr char kNotes[] =
    "A flag that is off leaves its operand in place, unread and with a gradient of zero. "
    "Sequences of at most 16 tokens are scanned token by token (route sequential; on CPU devices "
    "only where its loops fit their limit), longer ones in chunks of 64 / mimo_rank tokens whose "
    "work is parallel over the whole sequence (route parallel), unless that takes values of 2^31 "
    "elements.";
constexpr char kStepNotes[] =
    "Reads all states before it writes any. From zero states, L steps give the L outputs of the "
    "scan. theta in angle_state is not wrapped.";
constexpr char kBackwardNotes[] =
    "Routes differ in the tokens of a chunk: parallel (64 / mimo_rank, the default), generic (32), "
    "chunked (16), short or staged (1: the state before every token is stored). Sums run in a "
    "fixed "
    "order on every route.";

// Kernels of the chunked form, and with the backward pass those of the gradients.
std::vector<std::string> ScanKernels(bool backward) {
  std::vector<std::string> names = ProductKernels();
  for (const char* name :
       {"gates", "angle_sums", "angle_carry", "rotate", "project", "state_scan", "weights"}) {
    names.push_back(absl::StrCat("mamba3_", name, "_f32"));
  }
  const std::vector<const char*> own =
      backward ? std::vector<const char*>{"readout_backward", "pairs",          "rotate_backward",
                                          "gates_backward",   "input_backward", "head_sum"}
               : std::vector<const char*>{"readout", "step"};
  for (const char* name : own) names.push_back(absl::StrCat("mamba3_", name, "_f32"));
  names.push_back("fill_f32");
  if (backward) names.push_back("row_dot_f32");
  return names;
}

OpDef BaseRow(bool mimo, const char* suffix, const char* equation) {
  OpDef row;
  row.name = absl::StrCat(mimo ? "mamba3_mimo" : "mamba3_siso", suffix);
  row.family = "mamba3";
  row.equation = equation;
  row.shapes = mimo ? kMimoShapes : kSisoShapes;
  row.rejects = mimo ? kMimoRejects : kSisoRejects;
  row.attributes = ConfigAttributes();
  row.allow_empty = true;  // angle [B, L, 0]; nothing else may be empty, as the geometry says
  return row;
}

void AddOperands(OpDef& row, bool mimo, bool differentiable) {
  for (int i = 0; i < ScanOperandCount(mimo); ++i) {
    row.operands.push_back({.name = kOperandNames[i], .differentiable = differentiable});
  }
}

template <bool kMimo>
OpDef ScanRow() {
  OpDef row =
      BaseRow(kMimo, "",
              kMimo ? "S = e^adt S + scale sum_r v_r k_r^T, y = sum_r gate_r norm(S-readout of "
                      "q_r) mimo_o_r, "
                      "one state S for all ranks"
                    : "S = e^adt S + scale x k^T, y = (e^adt S q + (d + gamma q.k) x) silu(z)");
  AddOperands(row, kMimo, true);
  row.results = {{.name = "y"}};
  row.routes = {"sequential", "parallel"};
  row.notes = kNotes;
  row.kernels = ScanKernels(/*backward=*/false);
  row.infer = InferScan<kMimo>;
  row.adjoint = Adjoint<kMimo>;
  row.lower = LowerScan<kMimo>;
  return row;
}

template <bool kMimo>
OpDef StepRow() {
  OpDef row = BaseRow(kMimo, "_step", "one token of the scan, from and to the four states");
  for (const char* name : {"ssm_state", "angle_state", "k_state", "v_state"}) {
    row.operands.push_back({.name = name, .differentiable = false, .mutated = true});
  }
  AddOperands(row, kMimo, false);
  row.results = {{.name = "y", .differentiable = false}};
  for (int i = 0; i < kStates; ++i) {
    row.results.push_back({.name = row.operands[i].name, .differentiable = false});
  }
  row.rejects = absl::StrCat("sequence_length other than 1; ", row.rejects);
  row.notes = kStepNotes;
  row.kernels = {"mamba3_step_f32"};
  row.infer = InferStep<kMimo>;
  row.lower = LowerScanStep<kMimo>;
  return row;
}

template <bool kMimo>
OpDef BackwardRow() {
  OpDef row =
      BaseRow(kMimo, "_backward", "the gradients of all operands of the scan from that of y");
  row.operands = {{.name = "g"}};
  AddOperands(row, kMimo, true);
  for (int i = 0; i < ScanOperandCount(kMimo); ++i) {
    row.results.push_back({.name = absl::StrCat("d_", kOperandNames[i]), .optional = true});
  }
  row.routes = kMimo ? std::vector<std::string>{"staged", "parallel"}
                     : std::vector<std::string>{"short", "chunked", "generic", "parallel"};
  row.rejects = absl::StrCat(row.rejects, "; a temporary of more than 2^32-1 elements");
  row.notes = kBackwardNotes;
  row.kernels = ScanKernels(/*backward=*/true);
  row.infer = InferBackward<kMimo>;
  row.lower = LowerScanBackward<kMimo>;
  return row;
}

}  // namespace

ScanConfig ScanConfigOf(const Attributes& attributes, bool mimo) {
  ScanConfig s;
  s.mimo = mimo;
  s.batch = attributes.u32("batch_size");
  s.length = attributes.u32("sequence_length");
  s.heads = attributes.u32("num_heads");
  const uint64_t groups = attributes.u32("num_groups");
  s.groups = groups == 0 ? std::max<uint64_t>(s.heads, 1) : groups;
  s.depth = attributes.u32("head_dim");
  s.width = attributes.u32("state_size");
  s.angles = attributes.u32("num_rope_angles");
  s.ranks = attributes.u32("mimo_rank");
  s.has_z = attributes.boolean("has_z");
  s.has_d = attributes.boolean("has_d");
  s.has_norm = attributes.boolean("has_output_norm");
  return s;
}

ScanChunks ChunksOf(const ScanConfig& config, absl::string_view route) {
  constexpr uint64_t kSide = 64, kLeastTokens = 8;
  uint64_t tokens = std::max(kSide / config.ranks, kLeastTokens);
  if (route == "generic") tokens = 32;
  if (route == "chunked") tokens = 16;
  if (route == "short" || route == "staged") tokens = 1;
  ScanChunks chunks;
  chunks.tokens = std::min(config.length, tokens);
  chunks.count = CeilDiv(config.length, chunks.tokens);
  return chunks;
}

std::vector<OpDef> Mamba3Ops() {
  std::vector<OpDef> rows = Mamba3PreprocessOps();
  rows.insert(rows.end(), {ScanRow<false>(), StepRow<false>(), BackwardRow<false>(),
                           ScanRow<true>(), StepRow<true>(), BackwardRow<true>()});
  return rows;
}

}  // namespace oa::ir
