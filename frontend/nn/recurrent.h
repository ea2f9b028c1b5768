// Gru. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_RECURRENT_H_
#define OA_FRONTEND_NN_RECURRENT_H_

#include <optional>

#include "frontend/nn/linear.h"

namespace oa::ml::nn {

struct GruOptions {
  bool bias = true;  // of the input and of the recurrent projection, zeros at first
  std::optional<init::Initialiser>
      weight;         // of both; the default is Kaiming uniform in the input's
                      // and uniform in +-1 / sqrt(hidden) in the recurrent one
  uint64_t seed = 1;  // of the defaults
};

// A gated recurrence over a sequence, from the state 0: [B, S, inputs] to the states behind every
// step, [B, S, hidden]. The gates' order is reset, update, candidate.
// Parameters: input.weight [3 * hidden, inputs], recurrent.weight [3 * hidden, hidden], with `bias`
// also input.bias and recurrent.bias [3 * hidden].
// Errors: InvalidArgument if x has other extents or hidden is 0 or above 1024.
// Source: Cho et al. 2014; the equations are those of gru_cell in frontend/recurrent.h.
class Gru : public Layer {
 public:
  Gru(Graph& graph, absl::string_view name, uint64_t inputs, uint64_t hidden,
      const GruOptions& options = {});
  Result<Matrix> operator()(const Matrix& x) const;

  // One step with the same parameters: x [B, inputs] and the state before it [B, hidden] to the
  // state behind it [B, hidden].
  Result<Matrix> Step(const Matrix& x, const Matrix& state) const;

 private:
  Linear input_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_RECURRENT_H_
