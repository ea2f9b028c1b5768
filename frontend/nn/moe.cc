#include "frontend/nn/moe.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "frontend/index.h"
#include "frontend/matrix.h"
#include "frontend/ml_matrix.h"
#include "frontend/moe.h"

namespace oa::ml::nn {
namespace {

// Kaiming uniform of one expert; init::KaimingUniform would count its outputs as inputs too.
init::Initialiser ExpertWeight(uint64_t inputs, uint64_t seed) {
  const double fan = static_cast<double>(std::max<uint64_t>(inputs, 1));
  const float bound = static_cast<float>(std::sqrt(6 / fan));
  return init::Uniform(-bound, bound, seed);
}

}  // namespace

SparseMoe::SparseMoe(Graph& graph, absl::string_view name, uint64_t width, uint64_t hidden,
                     Mode mode, const SparseMoeOptions& options)
    : Layer(graph, name),
      width_(width),
      hidden_(hidden),
      mode_(mode),
      options_(options),
      router_(graph, Inner("router"), width, options.experts,
              {.bias = false, .seed = options.seed}) {
  Adopt(router_);
  const uint64_t experts = options.experts;
  gate_up_ = Declare("gate_up.weight", {experts, 2 * hidden, width},
                     ExpertWeight(width, SeedOf("gate_up.weight", options.seed)));
  down_ = Declare("down.weight", {experts, width, hidden},
                  ExpertWeight(hidden, SeedOf("down.weight", options.seed)));
  if (options.bias) {
    gate_up_bias_ = Declare("gate_up.bias", {experts, 2 * hidden}, init::Zeros());
    down_bias_ = Declare("down.bias", {experts, width}, init::Zeros());
  }
  if (options.balance_rate > 0) {
    balance_ = Declare("balance", {experts}, init::Zeros(), /*requires_grad=*/false);
  }
}

Result<Matrix> SparseMoe::Choose(const Matrix& logits) const {
  Matrix preference = logits;
  if (balance_) {
    OA_ASSIGN_OR_RETURN(preference, oa::matrix::add(logits, *balance_));
  }
  OA_ASSIGN_OR_RETURN(const oa::matrix::TopK best,
                      oa::matrix::top_k(preference, options_.experts_per_token));
  if (balance_ && mode_ == Mode::kTraining) {
    OA_ASSIGN_OR_RETURN(const Matrix chosen,
                        oa::matrix::top_k_mask(best.indices, options_.experts));
    OA_RETURN_IF_ERROR(oa::matrix::moe_routing_bias_update(
                           chosen, *balance_, options_.experts_per_token, options_.balance_rate)
                           .status());
  }
  return best.indices;
}

Result<Matrix> SparseMoe::Product(const Matrix& packed, const Parameter& weight,
                                  const std::optional<Parameter>& bias,
                                  const Matrix& offsets) const {
  if (!bias) return ml::matrix::grouped_gemm_m(packed, weight, offsets);
  return ml::matrix::grouped_linear_m(packed, weight, *bias, offsets);
}

Result<Matrix> SparseMoe::Experts(const Matrix& packed, const Matrix& offsets) const {
  OA_ASSIGN_OR_RETURN(Matrix h, Product(packed, gate_up_, gate_up_bias_, offsets));
  OA_ASSIGN_OR_RETURN(h, ml::matrix::silu_mul(h, hidden_));
  return Product(h, down_, down_bias_, offsets);
}

Result<Matrix> SparseMoe::operator()(const Matrix& x) const {
  return Record([&]() -> Result<Matrix> {
    OA_ASSIGN_OR_RETURN(Matrix logits, router_(x));
    OA_ASSIGN_OR_RETURN(logits,
                        oa::matrix::reshape(logits, {-1, static_cast<int64_t>(options_.experts)}));
    OA_ASSIGN_OR_RETURN(const Matrix rows,
                        oa::matrix::reshape(x, {-1, static_cast<int64_t>(width_)}));
    OA_ASSIGN_OR_RETURN(const Matrix chosen, Choose(logits));
    OA_ASSIGN_OR_RETURN(const Matrix probabilities, oa::matrix::softmax(logits, 1));
    OA_ASSIGN_OR_RETURN(const Matrix weights, ml::matrix::moe_route_weights(probabilities, chosen));
    OA_ASSIGN_OR_RETURN(const oa::matrix::MoeExpertPlan plan,
                        oa::matrix::moe_expert_plan(chosen, options_.experts));
    OA_ASSIGN_OR_RETURN(const Matrix packed,
                        ml::matrix::moe_gather(rows, plan.packed_token, plan.inverse));
    OA_ASSIGN_OR_RETURN(Matrix y, Experts(packed, plan.offsets));
    OA_ASSIGN_OR_RETURN(y, ml::matrix::moe_combine(y, weights, plan.inverse, plan.packed_slot));
    const std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
    return oa::matrix::reshape(y, shape);
  });
}

}  // namespace oa::ml::nn
