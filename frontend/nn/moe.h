// SparseMoe. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_MOE_H_
#define OA_FRONTEND_NN_MOE_H_

#include <optional>

#include "frontend/nn/linear.h"

namespace oa::ml::nn {

struct SparseMoeOptions {
  uint64_t experts = 8;            // at most 256
  uint64_t experts_per_token = 2;  // at most `experts`
  bool bias = false;               // of the experts' products, zeros at first
  // Above 0: training keeps the experts evenly busy without an extra loss, by a bias on the choice
  // of experts that every call moves by this much, up for experts chosen too seldom and down for
  // others.
  float balance_rate = 0;
  uint64_t seed = 1;  // of the weights: the router's and the experts' are Kaiming uniform
};

// A mixture of gated feed-forward experts, of which each row uses the `experts_per_token` that its
// router prefers: [.., width] to the same. With logits = router(x), p = softmax(logits) and the
// chosen experts C, the largest of logits + balance,
//   y = sum over e in C of p_e / sum(p over C) * down_e(silu(gate_e(x)) * up_e(x))
// The choice has no gradient; the router learns through p. No row is dropped, however many prefer
// an expert. Parameters: router.weight [experts, width]; gate_up.weight [experts, 2 * hidden,
// width], of each expert gate above up; down.weight [experts, width, hidden]; with `bias`
// gate_up.bias [experts, 2 * hidden] and down.bias [experts, width]; with balance_rate above 0
// frozen: balance [experts], which calls in training change and which travels with the others.
// Errors: InvalidArgument if x has another width, or an extent or option is 0 or above its limit.
// Source: Shazeer et al. 2017; Wang et al. 2024 for balancing without an extra loss.
class SparseMoe : public Layer {
 public:
  SparseMoe(Graph& graph, absl::string_view name, uint64_t width, uint64_t hidden, Mode mode,
            const SparseMoeOptions& options = {});
  Result<Matrix> operator()(const Matrix& x) const;

 private:
  // I32 [T, experts_per_token].
  Result<Matrix> Choose(const Matrix& logits) const;
  // Packed rows [R, width] through the expert that owns each by `offsets`.
  Result<Matrix> Experts(const Matrix& packed, const Matrix& offsets) const;
  Result<Matrix> Product(const Matrix& packed, const Parameter& weight,
                         const std::optional<Parameter>& bias, const Matrix& offsets) const;

  uint64_t width_, hidden_;
  Mode mode_;
  SparseMoeOptions options_;
  Linear router_;
  Parameter gate_up_, down_;
  std::optional<Parameter> gate_up_bias_, down_bias_, balance_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_MOE_H_
