#include "frontend/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "frontend/recurrent.h"

namespace oa::ml::nn {

Gru::Gru(Graph& graph, absl::string_view name, uint64_t inputs, uint64_t hidden,
         const GruOptions& options)
    : Layer(graph, name),
      input_(graph, Inner("input"), inputs, 3 * hidden,
             {.bias = options.bias, .weight = options.weight, .seed = options.seed}) {
  Adopt(input_);
  const float bound =
      static_cast<float>(1 / std::sqrt(static_cast<double>(std::max<uint64_t>(hidden, 1))));
  weight_ = Declare("recurrent.weight", {3 * hidden, hidden},
                    options.weight.value_or(
                        init::Uniform(-bound, bound, SeedOf("recurrent.weight", options.seed))));
  if (options.bias) bias_ = Declare("recurrent.bias", {3 * hidden}, init::Zeros());
}

Result<Matrix> Gru::operator()(const Matrix& x) const {
  return Record([&]() -> Result<Matrix> {
    OA_ASSIGN_OR_RETURN(const Matrix gates, input_(x));
    if (!bias_) return ml::matrix::gru_scan(gates, weight_, nullptr);
    const Matrix bias = *bias_;
    return ml::matrix::gru_scan(gates, weight_, &bias);
  });
}

Result<Matrix> Gru::Step(const Matrix& x, const Matrix& state) const {
  return Record([&]() -> Result<Matrix> {
    OA_ASSIGN_OR_RETURN(const Matrix gates, input_(x));
    if (!bias_) return ml::matrix::gru_cell(gates, state, weight_, nullptr);
    const Matrix bias = *bias_;
    return ml::matrix::gru_cell(gates, state, weight_, &bias);
  });
}

}  // namespace oa::ml::nn
