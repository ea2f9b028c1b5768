#include <algorithm>

#include "frontend/examples/benchmarks/benchmarks.h"

namespace oa::examples {
namespace {

struct VqSizes {
  uint64_t latents, codes, columns;
};

// Nearest codes; with `update` also the next state of the codebook.
absl::Status RecordVq(Graph& g, const VqSizes& s, bool update) {
  const Matrix latent = g.Input("latent", F32, {s.latents, s.columns});
  const Parameter codebook = g.Param("codebook", {s.codes, s.columns}, init::Normal(0, 1, 1));
  OA_ASSIGN_OR_RETURN(const ml::matrix::VqAssignResult found,
                      ml::matrix::vq_assign(latent, codebook));
  g.Output("indices", found.indices);
  if (!update) return absl::OkStatus();
  const Parameter size = g.Param("size", {s.codes}, init::Ones());
  OA_ASSIGN_OR_RETURN(const ml::matrix::VqEmaState next,
                      ml::matrix::vq_ema_update(latent, found.indices, codebook, size, codebook,
                                                0.99f, 1e-5f, 0.01f, 1, false));
  g.Output("size", next.cluster_size);
  OA_ASSIGN_OR_RETURN(const Matrix sum, matrix::sum(next.codebook));
  g.Output("sum", sum);
  return absl::OkStatus();
}

struct MoeSizes {
  uint64_t tokens, experts, routes, width, hidden;
};

// A layer of gated experts, without its router's product; with gradients of everything.
absl::Status RecordMoe(Graph& g, const MoeSizes& s, bool train) {
  const Matrix x = g.Input("x", F32, {s.tokens, s.width});
  const Matrix router = g.Input("router", F32, {s.tokens, s.experts});
  const Parameter w1 = g.Param("w1", {s.experts, 2 * s.hidden, s.width}, init::Normal(0, 0.02f, 1));
  const Parameter b1 = g.Param("b1", {s.experts, 2 * s.hidden}, init::Zeros());
  const Parameter w2 = g.Param("w2", {s.experts, s.width, s.hidden}, init::Normal(0, 0.02f, 2));
  const Parameter b2 = g.Param("b2", {s.experts, s.width}, init::Zeros());
  OA_ASSIGN_OR_RETURN(const Matrix p, matrix::softmax(router, 1));
  OA_ASSIGN_OR_RETURN(const matrix::TopK top, matrix::top_k(router, s.routes));
  OA_ASSIGN_OR_RETURN(const Matrix gates, ml::matrix::moe_route_weights(p, top.indices));
  OA_ASSIGN_OR_RETURN(const matrix::MoeExpertPlan plan,
                      matrix::moe_expert_plan(top.indices, s.experts));
  OA_ASSIGN_OR_RETURN(const Matrix rows,
                      ml::matrix::moe_gather(x, plan.packed_token, plan.inverse));
  OA_ASSIGN_OR_RETURN(const Matrix up, ml::matrix::grouped_linear_m(rows, w1, b1, plan.offsets));
  OA_ASSIGN_OR_RETURN(const Matrix h, ml::matrix::silu_mul(up, s.hidden));
  OA_ASSIGN_OR_RETURN(const Matrix down, ml::matrix::grouped_linear_m(h, w2, b2, plan.offsets));
  OA_ASSIGN_OR_RETURN(const Matrix y,
                      ml::matrix::moe_combine(down, gates, plan.inverse, plan.packed_slot));
  OA_ASSIGN_OR_RETURN(const Matrix loss, matrix::sum(y));
  g.Output("loss", loss);
  if (!train) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const ml::autograd::Gradients gradients, ml::autograd::Backward(loss));
  for (const auto& [parameter, gradient] : gradients.parameters()) {
    OA_ASSIGN_OR_RETURN(const Matrix sum, matrix::sum(gradient));
    g.Output("d_" + parameter.name(), sum);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Benchmark> ExpertBenchmarks(uint64_t scale) {
  const auto divided = [scale](uint64_t size) { return std::max<uint64_t>(size / scale, 16); };
  const VqSizes vq = {divided(65536), divided(8192), 64};
  const MoeSizes moe = {divided(16384), 8, 2, divided(1024), divided(2048)};
  return {{"vq_assign", [=](Graph& g) { return RecordVq(g, vq, false); }},
          {"vq_update", [=](Graph& g) { return RecordVq(g, vq, true); }},
          {"moe", [=](Graph& g) { return RecordMoe(g, moe, false); }},
          {"moe_train", [=](Graph& g) { return RecordMoe(g, moe, true); }}};
}

}  // namespace oa::examples
