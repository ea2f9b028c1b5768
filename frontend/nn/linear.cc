#include "frontend/nn/linear.h"

#include "frontend/matrix.h"
#include "frontend/ml_matrix.h"

namespace oa::ml::nn {

Linear::Linear(Graph& graph, absl::string_view name, uint64_t inputs, uint64_t outputs,
               const LinearOptions& options)
    : Layer(graph, name) {
  weight_ = Declare("weight", {outputs, inputs},
                    options.weight.value_or(init::KaimingUniform(SeedOf("weight", options.seed))));
  if (options.bias) bias_ = Declare("bias", {outputs}, init::Zeros());
}

Result<Matrix> Linear::operator()(const Matrix& x) const {
  return Record([&]() -> Result<Matrix> {
    if (!bias_) return oa::matrix::linear(x, weight_, nullptr);
    const Matrix bias = *bias_;
    return oa::matrix::linear(x, weight_, &bias);
  });
}

Embedding::Embedding(Graph& graph, absl::string_view name, uint64_t entries, uint64_t width,
                     const EmbeddingOptions& options)
    : Layer(graph, name) {
  table_ = Declare("table", {entries, width},
                   options.table.value_or(init::Normal(0, 1, SeedOf("table", options.seed))));
}

Result<Matrix> Embedding::operator()(const Matrix& indices) const {
  return Record([&] { return oa::matrix::embedding(table_, indices); });
}

SwiGluMlp::SwiGluMlp(Graph& graph, absl::string_view name, uint64_t width, uint64_t hidden,
                     const SwiGluMlpOptions& options)
    : Layer(graph, name),
      gate_(graph, Inner("gate"), width, hidden,
            {.bias = false, .weight = options.weight, .seed = options.seed}),
      up_(graph, Inner("up"), width, hidden,
          {.bias = false, .weight = options.weight, .seed = options.seed}),
      down_(graph, Inner("down"), hidden, width,
            {.bias = false, .weight = options.down, .seed = options.seed}) {
  for (const Linear* inner : {&gate_, &up_, &down_}) Adopt(*inner);
}

Result<Matrix> SwiGluMlp::operator()(const Matrix& x) const {
  return Record([&]() -> Result<Matrix> {
    OA_ASSIGN_OR_RETURN(const Matrix gate, gate_(x));
    OA_ASSIGN_OR_RETURN(const Matrix up, up_(x));
    OA_ASSIGN_OR_RETURN(const Matrix hidden, ml::matrix::swiglu(gate, up));
    return down_(hidden);
  });
}

}  // namespace oa::ml::nn
