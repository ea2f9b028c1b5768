// MultiHeadAttention. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_ATTENTION_H_
#define OA_FRONTEND_NN_ATTENTION_H_

#include <optional>

#include "frontend/nn/linear.h"

namespace oa::ml::nn {

struct MultiHeadAttentionOptions {
  bool causal = true;  // position i sees the positions up to i only
  bool bias = false;   // of the four projections
  // Rotary positions with this base, 10000 for example; absent: positions are not encoded.
  std::optional<float> rope_theta;
  std::optional<init::Initialiser> weight;  // of the projections; the default is Kaiming uniform
  uint64_t seed = 1;                        // of the default
};

// Self-attention: [B, S, width] to the same. Each of `heads` heads attends with width / heads
// features of the projected rows and the scale 1 / sqrt(width / heads).
// Parameters: query.weight, key.weight, value.weight and out.weight [width, width], with `bias`
// also a .bias [width] each. Errors: InvalidArgument if heads is 0 or does not divide width, if the
// features of a head are odd and rotated, if x is not [B, S, width], or if the mask does not fit.
// Source: Vaswani et al. 2017; Su et al. 2021 for rotary positions.
class MultiHeadAttention : public Layer {
 public:
  MultiHeadAttention(Graph& graph, absl::string_view name, uint64_t width, uint64_t heads,
                     const MultiHeadAttentionOptions& options = {});
  // `additive_mask` [B * heads * S, S] is added to the scaled scores, one row a query, and gets no
  // gradient; -inf hides a key. nullptr: no mask.
  Result<Matrix> operator()(const Matrix& x, OptMatrix additive_mask = nullptr) const;

 private:
  // Rows [B * S, width] projected and, for queries and keys, rotated; as heads [B * heads, S, ..].
  Result<Matrix> Heads(const Linear& projection, const Matrix& rows, uint64_t sequence_length,
                       bool rotate) const;

  uint64_t width_, heads_;
  MultiHeadAttentionOptions options_;
  Linear query_, key_, value_, out_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_ATTENTION_H_
