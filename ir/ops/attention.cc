// Attention: heads, the masked softmax, and scaled_dot_product_attention by two routes.
//
//   products  scores, their softmax and its product with the values, each in memory: two batched
//             products around a row kernel; best where workgroups are dear (CPU devices);
//   flash     tiles of scores that never leave a workgroup (kernels/attention/flash.glsl).
//
// Both keep one number a query for the backward pass, the log of the sum of its exponentials.
#include "ir/lower.h"
#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/ops/matmul.h"
#include "ir/ops/reduce_lowering.h"
#include "ir/ops/rows.h"
#include "ir/ops/shape_rows.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr char kFamily[] = "attention";
// Longest sequence of flash_attention_causal.
constexpr uint64_t kMaxFlashLength = 1024;
// The products route keeps matrices of scores; kernels address this many elements.
constexpr uint64_t kMaxScores = INT32_MAX;

// ---- split_heads, merge_heads ----

struct Heads {
  uint64_t batch, sequence, heads;
};

Heads HeadsOf(const Attributes& attributes) {
  return {static_cast<uint64_t>(attributes.i64("batch")),
          static_cast<uint64_t>(attributes.i64("sequence_length")),
          static_cast<uint64_t>(attributes.i64("num_heads"))};
}

// Bounds of the attributes, so that products of two fit.
absl::Status CheckHeads(const InferContext& ctx) {
  for (const char* name : {"batch", "sequence_length", "num_heads"}) {
    const int64_t value = ctx.attributes().i64(name);
    if (value < 1 || value > int64_t{UINT32_MAX}) {
      return ctx.Fail("attribute '", name, "' is ", value, ", must be from 1 to 2^32-1");
    }
  }
  return absl::OkStatus();
}

absl::Status AddHeadsResult(InferContext& ctx, const Shape& shape) {
  if (ctx.attributes().i64("num_heads") == 1) return ctx.AddView(0, shape);
  return ctx.AddResult(DType::F32, shape);
}

absl::Status InferSplitHeads(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  OA_RETURN_IF_ERROR(CheckHeads(ctx));
  const Heads h = HeadsOf(ctx.attributes());
  const uint64_t rows = ctx.shape(0)[0], width = ctx.shape(0)[1];
  if (rows != h.batch * h.sequence) {
    return ctx.Fail("the operand has ", rows, " rows, not ", h.batch, " times ", h.sequence);
  }
  if (width % h.heads != 0) {
    return ctx.Fail("the width ", width, " is no multiple of 'num_heads', ", h.heads);
  }
  return AddHeadsResult(ctx, {h.batch * h.heads, h.sequence, width / h.heads});
}

absl::Status InferMergeHeads(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(0, 3));
  OA_RETURN_IF_ERROR(CheckHeads(ctx));
  const Heads h = HeadsOf(ctx.attributes());
  const uint64_t width = ctx.shape(0)[2];
  OA_RETURN_IF_ERROR(ctx.RequireShape(0, {h.batch * h.heads, h.sequence, width}));
  return AddHeadsResult(ctx, {h.batch * h.sequence, h.heads * width});
}

template <bool kSplit>
absl::Status AdjointHeads(AdjointContext& ctx) {
  const Attributes attributes = ctx.attributes();
  OA_ASSIGN_OR_RETURN(const ValueId dx,
                      ctx.Emit(kSplit ? "merge_heads" : "split_heads", {ctx.grad()}, attributes));
  ctx.SetGrad(0, dx);
  return absl::OkStatus();
}

template <bool kSplit>
absl::Status LowerHeads(LowerContext& ctx) {
  const Heads h = HeadsOf(ctx.attributes());
  if (h.heads == 1) return absl::OkStatus();  // a view
  SwapShape swap = {.a = h.batch, .i = h.sequence, .j = h.heads};
  if (!kSplit) std::swap(swap.i, swap.j);
  swap.c = ctx.output_count_of() / (h.batch * h.sequence * h.heads);
  return EmitSwap(ctx, ctx.in(0), ctx.out(), swap);
}

void AddHeads(std::vector<OpDef>& rows) {
  OpDef row =
      MakeRow({"split_heads", kFamily, "y[b*H + h, s, p] = x[b*S + s, h*P + p]; a view when H = 1",
               "x [B*S, H*P], y [B*H, S, P]"},
              {Operand("x")}, {{.name = "y"}});
  row.attributes = {IntegerAttribute("batch"), IntegerAttribute("sequence_length"),
                    IntegerAttribute("num_heads")};
  row.rejects =
      "x not of rank 2; an attribute of 0; rows other than B * S; a width H does not divide";
  row.kernels = {"transpose_u32", "transpose_u32x4", "transpose_tiled_u32"};
  row.infer = InferSplitHeads;
  row.adjoint = AdjointHeads<true>;
  row.lower = LowerHeads<true>;
  rows.push_back(row);

  row.name = "merge_heads";
  row.equation = "y[b*S + s, h*P + p] = x[b*H + h, s, p]; a view when H = 1";
  row.shapes = "x [B*H, S, P], y [B*S, H*P]";
  row.rejects = "x not of rank 3; an attribute of 0; extents other than B * H and S";
  row.infer = InferMergeHeads;
  row.adjoint = AdjointHeads<false>;
  row.lower = LowerHeads<false>;
  rows.push_back(row);
}

// ---- The softmax of scores ----

// Rows of scores and what is done to them before the softmax.
struct Scores {
  uint64_t rows, columns, queries;
  float scale;
  BufferSlice mask;  // empty: none
  bool causal = false;
};

// `lse` may be empty: not wanted.
absl::Status EmitSoftmax(LowerContext& ctx, const Scores& s, BufferSlice scores, BufferSlice y,
                         BufferSlice lse) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("attention_softmax_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(s.rows, 2 * CeilDiv(s.columns, kernel->local_size[0]) + 2));
  KernelCall call(kernel);
  call.Buffer(scores).Buffer(s.mask).Buffer(y).Buffer(lse);
  call.U32(s.rows).U32(s.columns).U32(s.queries).F32(s.scale);
  call.Constant("masked", s.mask.size_bytes != 0)
      .Constant("causal", s.causal)
      .Constant("want_lse", lse.size_bytes != 0);
  return ctx.Emit(std::move(call.Flops(25 * s.rows * s.columns).Grid(groups)));
}

// The gradient of scores from that of probabilities, which are given, or computed from scores and
// lse and stored.
struct SoftmaxBackward {
  BufferSlice g;
  BufferSlice y;                           // given, or
  BufferSlice scores, lse, probabilities;  // computed
  BufferSlice dscores;
};

absl::Status EmitSoftmaxBackward(LowerContext& ctx, const Scores& s, const SoftmaxBackward& b) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("attention_softmax_backward_f32"));
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      ctx.RowGroups(s.rows, 2 * CeilDiv(s.columns, kernel->local_size[0]) + 2));
  KernelCall call(kernel);
  call.Buffer(b.g).Buffer(b.y).Buffer(b.scores).Buffer(s.mask).Buffer(b.lse);
  call.Buffer(b.probabilities).Buffer(b.dscores);
  call.U32(s.rows).U32(s.columns).U32(s.queries).F32(s.scale);
  call.Constant("masked", s.mask.size_bytes != 0)
      .Constant("causal", s.causal)
      .Constant("again", b.scores.size_bytes != 0);
  return ctx.Emit(std::move(call.Flops(5 * s.rows * s.columns).Grid(groups)));
}

absl::Status InferSoftmaxScaledMasked(InferContext& ctx) {
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(1, 0));
  return ctx.AddResult(DType::F32, ctx.shape(0));
}

absl::Status AdjointSoftmaxScaledMasked(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.output()});
}

Scores PlainScores(const LowerContext& ctx) {
  const uint64_t columns = ctx.output_shape().back();
  return {ctx.output_count_of() / columns, columns, 1, ctx.attributes().f32("scale"), {}};
}

absl::Status LowerSoftmaxScaledMasked(LowerContext& ctx) {
  Scores scores = PlainScores(ctx);
  scores.mask = ctx.in(1);
  return EmitSoftmax(ctx, scores, ctx.in(0), ctx.out(), BufferSlice());
}

absl::Status LowerSoftmaxScaledMaskedBackward(LowerContext& ctx) {
  return EmitSoftmaxBackward(ctx, PlainScores(ctx),
                             {.g = ctx.in(0), .y = ctx.in(1), .dscores = ctx.out()});
}

void AddSoftmax(std::vector<OpDef>& rows) {
  OpDef row =
      MakeRow({"softmax_scaled_masked", kFamily,
               "y = softmax(scale * scores + mask) along the last axis", "scores, mask, y [..]"},
              {Operand("scores"), DetachedOperand("mask")}, {{.name = "y"}});
  row.attributes = {RealAttribute("scale")};
  row.rejects = "a mask not shaped like the scores";
  row.notes = "Where the sum is -inf y is exactly 0, also in a row of nothing else.";
  row.kernels = {"attention_softmax_f32"};
  row.infer = InferSoftmaxScaledMasked;
  row.adjoint = AdjointSoftmaxScaledMasked;
  row.lower = LowerSoftmaxScaledMasked;
  rows.push_back(row);

  row = BackwardRow(
      row, {"dscores = scale * y * (g - sum of g * y along the last axis)", "g, y, dscores [..]"},
      {Operand("g"), Operand("y")}, {{.name = "dscores"}});
  row.kernels = {"attention_softmax_backward_f32"};
  row.lower = LowerSoftmaxScaledMaskedBackward;
  rows.push_back(row);
}

// ---- scaled_dot_product_attention ----

// query, key and value at operands `first`.., the mask behind them.
absl::Status CheckAttention(const InferContext& ctx, int first) {
  OA_RETURN_IF_ERROR(ctx.RequireRank(first, 3));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(first + 1, first));
  OA_RETURN_IF_ERROR(ctx.RequireSameShape(first + 2, first));
  const Shape& q = ctx.shape(first);
  const bool flash = ctx.attributes().token("provider") == "flash";  // which has no scores
  if (!flash && CheckedMul(q[0] * q[1], q[1]).value_or(UINT64_MAX) > UINT32_MAX) {
    return ctx.Fail("the scores of ", ShapeText(q), " are more than 2^32-1");
  }
  if (ctx.has(first + 3)) {
    OA_RETURN_IF_ERROR(ctx.RequireShape(first + 3, {q[0] * q[1], q[1]}));
  }
  if (!flash) return absl::OkStatus();
  if (!ctx.attributes().boolean("causal") || ctx.has(first + 3)) {
    return ctx.Fail("the provider 'flash' is causal and has no mask");
  }
  if (q[1] > kMaxFlashLength) {
    return ctx.Fail("the sequence length is ", q[1], ", the limit of the provider 'flash' is ",
                    kMaxFlashLength);
  }
  return absl::OkStatus();
}

absl::Status InferAttention(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckAttention(ctx, 0));
  const Shape& q = ctx.shape(0);
  OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, q));
  return ctx.AddResult(DType::F32, {q[0], q[1]});
}

// Operands (g, query, key, value, mask, output, lse).
absl::Status InferAttentionBackward(InferContext& ctx) {
  OA_RETURN_IF_ERROR(CheckAttention(ctx, 1));
  const Shape& q = ctx.shape(1);
  for (int i : {0, 5}) OA_RETURN_IF_ERROR(ctx.RequireShape(i, q));
  OA_RETURN_IF_ERROR(ctx.RequireShape(6, {q[0], q[1]}));
  for (int i = 0; i < 3; ++i) OA_RETURN_IF_ERROR(ctx.AddResult(DType::F32, q));
  return absl::OkStatus();
}

absl::Status AdjointAttention(AdjointContext& ctx) {
  return ctx.EmitBackward({ctx.grad(), ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3),
                           ctx.output(0), ctx.output(1)});
}

// An attention of n batch heads, s positions and d features a head.
struct Attention {
  uint64_t n, s, d;
  Scores scores;
  BufferSlice query, key, value;

  MatrixView rows(BufferSlice x) const { return {x, d, 1, s * d}; }
  MatrixView columns(BufferSlice x) const { return {x, 1, d, s * d}; }
  MatrixView square(BufferSlice x) const { return {x, s, 1, s * s}; }
  MatrixView square_t(BufferSlice x) const { return {x, 1, s, s * s}; }
};

// The operands at inputs `first`..
Attention AttentionOf(const LowerContext& ctx, int first) {
  const Shape& q = ctx.input_shape(first);
  Attention a = {q[0], q[1], q[2], {}, ctx.in(first), ctx.in(first + 1), ctx.in(first + 2)};
  a.scores = {a.n * a.s,
              a.s,
              a.s,
              ctx.attributes().f32("scale"),
              ctx.in_or_null(first + 3),
              ctx.attributes().boolean("causal")};
  return a;
}

bool TakesFlash(const LowerContext& ctx, const Attention& a) {
  if (!ctx.route().empty()) return ctx.route() == "flash";
  return !ctx.profile().is_cpu || a.n * a.s * a.s > kMaxScores;
}

// [n, s, s] = x y^T.
absl::StatusOr<BufferSlice> EmitSquare(LowerContext& ctx, const Attention& a, const char* name,
                                       BufferSlice x, BufferSlice y) {
  Product product;
  product.a = a.rows(x);
  product.b = a.columns(y);
  product.m = product.n = a.s;
  product.k = a.d;
  product.batch = a.n;
  product.out = ctx.Scratch(name, DType::F32, {a.n, a.s, a.s});
  OA_RETURN_IF_ERROR(EmitProduct(ctx, product));
  return product.out;
}

// out [n, s, d] = weights x.
absl::Status EmitWeighted(LowerContext& ctx, const Attention& a, MatrixView weights, BufferSlice x,
                          BufferSlice out) {
  Product product;
  product.a = weights;
  product.b = a.rows(x);
  product.m = product.k = a.s;
  product.n = a.d;
  product.batch = a.n;
  product.out = out;
  return EmitProduct(ctx, product);
}

absl::Status EmitByProducts(LowerContext& ctx, const Attention& a) {
  OA_ASSIGN_OR_RETURN(const BufferSlice scores, EmitSquare(ctx, a, "scores", a.query, a.key));
  const BufferSlice p = ctx.Scratch("probabilities", DType::F32, {a.n, a.s, a.s});
  OA_RETURN_IF_ERROR(EmitSoftmax(ctx, a.scores, scores, p, ctx.out_or_null(1)));
  return EmitWeighted(ctx, a, a.square(p), a.value, ctx.out(0));
}

absl::Status EmitBackwardByProducts(LowerContext& ctx, const Attention& a) {
  OA_ASSIGN_OR_RETURN(const BufferSlice scores, EmitSquare(ctx, a, "scores", a.query, a.key));
  OA_ASSIGN_OR_RETURN(const BufferSlice dp,
                      EmitSquare(ctx, a, "dprobabilities", ctx.in(0), a.value));
  const SoftmaxBackward softmax = {
      .g = dp,
      .scores = scores,
      .lse = ctx.in(6),
      .probabilities = ctx.Scratch("probabilities", DType::F32, {a.n, a.s, a.s}),
      .dscores = ctx.Scratch("dscores", DType::F32, {a.n, a.s, a.s})};
  OA_RETURN_IF_ERROR(EmitSoftmaxBackward(ctx, a.scores, softmax));
  if (ctx.has_output(0)) {
    OA_RETURN_IF_ERROR(EmitWeighted(ctx, a, a.square(softmax.dscores), a.key, ctx.out(0)));
  }
  if (ctx.has_output(1)) {
    OA_RETURN_IF_ERROR(EmitWeighted(ctx, a, a.square_t(softmax.dscores), a.query, ctx.out(1)));
  }
  if (!ctx.has_output(2)) return absl::OkStatus();
  return EmitWeighted(ctx, a, a.square_t(softmax.probabilities), ctx.in(0), ctx.out(2));
}

// Emits one of the flash kernels, its buffers already in `call`; `passes` products a tile.
absl::Status EmitFlash(LowerContext& ctx, KernelCall call, const Attention& a, uint64_t passes) {
  constexpr uint64_t kOwn = 64, kOther = 32, kSlice = 64, kStep = 8;  // flash.glsl
  const uint64_t items = a.n * CeilDiv(a.s, kOwn) * CeilDiv(a.d, kSlice);
  const uint64_t iterations = (CeilDiv(a.s, kOther) + 1) * (passes * (CeilDiv(a.d, kStep) + 4) + 1);
  OA_ASSIGN_OR_RETURN(const uint64_t groups, ctx.RowGroups(items, iterations));
  call.U32(a.n).U32(a.s).U32(a.d).F32(a.scores.scale);
  call.Constant("masked", a.scores.mask.size_bytes != 0).Constant("causal", a.scores.causal);
  const uint64_t pairs = a.scores.causal ? a.n * a.s * a.s / 2 : a.n * a.s * a.s;
  return ctx.Emit(std::move(call.Flops(2 * passes * pairs * a.d).Grid(groups)));
}

KernelCall FlashCall(const Kernel* kernel, const Attention& a) {
  KernelCall call(kernel);
  call.Buffer(a.query).Buffer(a.key).Buffer(a.value).Buffer(a.scores.mask);
  return call;
}

absl::Status EmitFlashForward(LowerContext& ctx, const Attention& a) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("attention_flash_f32"));
  KernelCall call = FlashCall(kernel, a);
  call.Buffer(ctx.out(0));
  call.Buffer(ctx.has_output(1) ? ctx.out(1) : ctx.Scratch("lse", DType::F32, {a.n, a.s}));
  return EmitFlash(ctx, std::move(call), a, 2);
}

absl::Status EmitFlashBackward(LowerContext& ctx, const Attention& a) {
  const BufferSlice delta = ctx.Scratch("delta", DType::F32, {a.n, a.s});
  OA_RETURN_IF_ERROR(EmitRowDot(ctx, ctx.in(0), ctx.in(5), a.n * a.s, a.d, delta));
  const auto result = [&](int i, const char* name) {
    return ctx.has_output(i) ? ctx.out(i) : ctx.Scratch(name, DType::F32, {a.n, a.s, a.d});
  };
  if (ctx.has_output(0)) {
    OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("attention_flash_query_f32"));
    KernelCall call = FlashCall(kernel, a);
    call.Buffer(ctx.in(0)).Buffer(ctx.in(6)).Buffer(delta).Buffer(ctx.out(0));
    OA_RETURN_IF_ERROR(EmitFlash(ctx, std::move(call), a, 3));
  }
  if (!ctx.has_output(1) && !ctx.has_output(2)) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, ctx.Select("attention_flash_key_f32"));
  KernelCall call = FlashCall(kernel, a);
  call.Buffer(ctx.in(0)).Buffer(ctx.in(6)).Buffer(delta);
  call.Buffer(result(1, "dkey")).Buffer(result(2, "dvalue"));
  return EmitFlash(ctx, std::move(call), a, 4);
}

absl::Status LowerAttention(LowerContext& ctx) {
  const Attention a = AttentionOf(ctx, 0);
  return TakesFlash(ctx, a) ? EmitFlashForward(ctx, a) : EmitByProducts(ctx, a);
}

absl::Status LowerAttentionBackward(LowerContext& ctx) {
  const Attention a = AttentionOf(ctx, 1);
  return TakesFlash(ctx, a) ? EmitFlashBackward(ctx, a) : EmitBackwardByProducts(ctx, a);
}

std::vector<std::string> AttentionKernels(std::initializer_list<const char*> own) {
  std::vector<std::string> names = ProductKernels();
  names.insert(names.end(), own.begin(), own.end());
  return names;
}

void AddAttention(std::vector<OpDef>& rows) {
  OpDef row = MakeRow({"scaled_dot_product_attention", kFamily,
                       "y = P value, P = softmax(scale * query key^T + mask) over the keys, those "
                       "behind the query invisible when causal",
                       "query, key, value, y [N, S, D], mask [N*S, S] or absent, lse [N, S]"},
                      {Operand("query"),
                       Operand("key"),
                       Operand("value"),
                       {.name = "mask", .optional = true, .differentiable = false}},
                      {{.name = "y"}, {.name = "lse", .optional = true, .differentiable = false}});
  row.attributes = {RealAttribute("scale"),
                    {"causal", AttributeKind::kBool},
                    {"provider", AttributeKind::kToken, {"any", "flash"}}};
  row.routes = {"products", "flash"};
  row.rejects =
      "query not of rank 3; key or value of another shape; a mask that is not [N*S, S]; with the "
      "provider flash a mask, no causality, or S above 1024";
  row.notes =
      "The route is chosen by device: flash on GPUs, for any S, products on CPU devices. Of the "
      "probabilities only lse, the log of the sum of exponentials of each query, is kept; the "
      "backward pass computes them again. flash_attention_causal records this operator with the "
      "provider flash and its limit of 1024; without that limit, call this operator.";
  row.kernels = AttentionKernels({"attention_softmax_f32", "attention_flash_f32"});
  row.infer = InferAttention;
  row.adjoint = AdjointAttention;
  row.lower = LowerAttention;
  rows.push_back(row);

  row = BackwardRow(row,
                    {"dvalue = P^T g, dS = scale * P * (dP - rowsum(dP * P)), dP = g value^T, "
                     "dquery = dS key, dkey = dS^T query",
                     "g, query, key, value, y, dquery, dkey, dvalue [N, S, D], mask [N*S, S] or "
                     "absent, lse [N, S]"},
                    {Operand("g"),
                     Operand("query"),
                     Operand("key"),
                     Operand("value"),
                     {.name = "mask", .optional = true, .differentiable = false},
                     Operand("y"),
                     Operand("lse")},
                    OptionalResults({"dquery", "dkey", "dvalue"}));
  row.kernels = AttentionKernels({"attention_softmax_backward_f32", "row_dot_f32",
                                  "attention_flash_query_f32", "attention_flash_key_f32"});
  row.infer = InferAttentionBackward;
  row.lower = LowerAttentionBackward;
  rows.push_back(row);
}

}  // namespace

std::vector<OpDef> AttentionOps() {
  std::vector<OpDef> rows;
  AddHeads(rows);
  AddSoftmax(rows);
  AddAttention(rows);
  return rows;
}

}  // namespace oa::ir
