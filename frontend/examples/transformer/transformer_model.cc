#include "frontend/examples/transformer/transformer_model.h"

#include <string>

namespace oa::examples {
namespace {

namespace nn = ml::nn;

// x + attention(rms_norm(x)), then x + experts(rms_norm(x)); x [rows, length, width].
Result<Matrix> Block(Graph& graph, const std::string& name, const Matrix& x, nn::Mode mode,
                     const TransformerOptions& options) {
  const uint64_t width = options.width;
  const nn::RmsNorm attention_norm(graph, name + ".attention_norm", width);
  const nn::MultiHeadAttention attention(graph, name + ".attention", width, options.heads,
                                         {.rope_theta = options.rope_theta});
  const nn::RmsNorm experts_norm(graph, name + ".experts_norm", width);
  const nn::SparseMoe experts(graph, name + ".experts", width, options.hidden, mode,
                              {.experts = options.experts,
                               .experts_per_token = options.experts_per_token,
                               .balance_rate = options.balance_rate});
  OA_ASSIGN_OR_RETURN(Matrix h, attention_norm(x));
  OA_ASSIGN_OR_RETURN(h, attention(h));
  OA_ASSIGN_OR_RETURN(const Matrix mixed, matrix::add(x, h));
  OA_ASSIGN_OR_RETURN(h, experts_norm(mixed));
  OA_ASSIGN_OR_RETURN(h, experts(h));
  return matrix::add(mixed, h);
}

Result<Matrix> Logits(Graph& graph, const std::string& prefix, const Matrix& bytes, nn::Mode mode,
                      const TransformerOptions& options) {
  const nn::Embedding embedding(graph, prefix + "embedding", kByteValues, options.width);
  OA_ASSIGN_OR_RETURN(Matrix x, embedding(bytes));
  for (uint64_t i = 0; i < options.layers; ++i) {
    OA_ASSIGN_OR_RETURN(x, Block(graph, prefix + "layer" + std::to_string(i), x, mode, options));
  }
  const nn::RmsNorm norm(graph, prefix + "norm", options.width);
  OA_ASSIGN_OR_RETURN(x, norm(x));
  const nn::Linear logits(graph, prefix + "logits", options.width, kByteValues, {.bias = false});
  OA_ASSIGN_OR_RETURN(x, logits(x));
  return matrix::reshape(x, {-1, static_cast<int64_t>(kByteValues)});
}

}  // namespace

ByteModel Transformer(const TransformerOptions& options) {
  return [options](Graph& graph, const std::string& prefix, const Matrix& bytes, nn::Mode mode) {
    return Logits(graph, prefix, bytes, mode, options);
  };
}

}  // namespace oa::examples
