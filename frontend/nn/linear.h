// Linear, Embedding and SwiGluMlp. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_LINEAR_H_
#define OA_FRONTEND_NN_LINEAR_H_

#include <optional>

#include "frontend/nn/layer.h"

namespace oa::ml::nn {

struct LinearOptions {
  bool bias = true;                         // zeros at first
  std::optional<init::Initialiser> weight;  // the default is Kaiming uniform
  uint64_t seed = 1;                        // of the default
};

// y = x weight^T + bias: [.., inputs] to [.., outputs].
// Parameters: weight [outputs, inputs], bias [outputs].
class Linear : public Layer {
 public:
  Linear(Graph& graph, absl::string_view name, uint64_t inputs, uint64_t outputs,
         const LinearOptions& options = {});
  Result<Matrix> operator()(const Matrix& x) const;

  const Parameter& weight() const { return weight_; }

 private:
  Parameter weight_;
  std::optional<Parameter> bias_;
};

struct EmbeddingOptions {
  std::optional<init::Initialiser> table;  // the default is normal with deviation 1
  uint64_t seed = 1;                       // of the default
};

// Rows of a table: indices U8, U32 or I32 of any shape S to S + [width]; an index outside the table
// gives a zero row. Parameter: table [entries, width].
class Embedding : public Layer {
 public:
  Embedding(Graph& graph, absl::string_view name, uint64_t entries, uint64_t width,
            const EmbeddingOptions& options = {});
  Result<Matrix> operator()(const Matrix& indices) const;

  const Parameter& table() const { return table_; }

 private:
  Parameter table_;
};

struct SwiGluMlpOptions {
  std::optional<init::Initialiser> weight;  // of `gate` and `up`; the default is Kaiming uniform
  std::optional<init::Initialiser> down;    // likewise
  uint64_t seed = 1;                        // of the defaults
};

// down(silu(gate(x)) * up(x)) without biases: [.., width] to [.., width].
// Parameters: gate.weight and up.weight [hidden, width], down.weight [width, hidden].
// Source: Shazeer 2020, "GLU Variants Improve Transformer".
class SwiGluMlp : public Layer {
 public:
  SwiGluMlp(Graph& graph, absl::string_view name, uint64_t width, uint64_t hidden,
            const SwiGluMlpOptions& options = {});
  Result<Matrix> operator()(const Matrix& x) const;

 private:
  Linear gate_, up_, down_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_LINEAR_H_
