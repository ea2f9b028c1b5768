#include "frontend/examples/mamba3/mamba3_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/nn/mamba3.h"

namespace oa::examples {
namespace {

namespace nn = ml::nn;

// How a block of layers sees its input: the whole sequence, or one byte and the states.
using Mixer = Result<Matrix> (*)(const nn::Mamba3Block& block, const Matrix& x);

Result<Matrix> MixSequence(const nn::Mamba3Block& block, const Matrix& x) { return block(x); }

Result<Matrix> MixStep(const nn::Mamba3Block& block, const Matrix& x) {
  return block.Step(x, block.DeclareStates(x.extent(0)));
}

// x + mamba3(rms_norm(x)), then x + swiglu(rms_norm(x)); x [rows, length, width].
Result<Matrix> Residuals(Graph& graph, const std::string& name, const Mamba3LmOptions& o, Mixer mix,
                         Matrix x) {
  const nn::RmsNorm mixer_norm(graph, name + ".mixer_norm", o.width);
  const nn::Mamba3Block mixer(graph, name + ".mixer", o.width,
                              {.head_dim = o.head_dim,
                               .state_size = o.state_size,
                               .mimo_rank = o.mimo_rank,
                               .output_norm = o.mimo_rank > 1});
  const nn::RmsNorm mlp_norm(graph, name + ".mlp_norm", o.width);
  const nn::SwiGluMlp mlp(graph, name + ".mlp", o.width, o.hidden);
  OA_ASSIGN_OR_RETURN(Matrix h, mixer_norm(x));
  OA_ASSIGN_OR_RETURN(h, mix(mixer, h));
  OA_ASSIGN_OR_RETURN(x, matrix::add(x, h));
  OA_ASSIGN_OR_RETURN(h, mlp_norm(x));
  OA_ASSIGN_OR_RETURN(h, mlp(h));
  return matrix::add(x, h);
}

Result<Matrix> Logits(Graph& graph, const std::string& prefix, const Mamba3LmOptions& o, Mixer mix,
                      const Matrix& bytes) {
  const nn::Embedding embedding(graph, prefix + "embedding", kByteValues, o.width);
  OA_ASSIGN_OR_RETURN(Matrix x, embedding(bytes));
  for (uint64_t i = 0; i < o.layers; ++i) {
    OA_ASSIGN_OR_RETURN(x, Residuals(graph, absl::StrCat(prefix, "layer", i), o, mix, x));
  }
  const nn::RmsNorm norm(graph, prefix + "norm", o.width);
  const nn::Linear logits(graph, prefix + "logits", o.width, kByteValues, {.bias = false});
  OA_ASSIGN_OR_RETURN(x, norm(x));
  OA_ASSIGN_OR_RETURN(x, logits(x));
  return matrix::reshape(x, {-1, static_cast<int64_t>(kByteValues)});
}

ByteModel Model(const Mamba3LmOptions& options, Mixer mix) {
  return [=](Graph& graph, const std::string& prefix, const Matrix& bytes, nn::Mode) {
    return Logits(graph, prefix, options, mix, bytes);
  };
}

}  // namespace

ByteModel Mamba3(const Mamba3LmOptions& options) { return Model(options, MixSequence); }
ByteModel Mamba3Step(const Mamba3LmOptions& options) { return Model(options, MixStep); }

ByteLm Mamba3Lm(const std::string& name, const Mamba3LmOptions& options) {
  ByteLm model;
  model.name = name;
  model.logits = Mamba3(options);
  model.generation_logits = Mamba3Step(options);
  model.window = 1;
  return model;
}

}  // namespace oa::examples
