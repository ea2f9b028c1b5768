#include "frontend/examples/transformer/transformer_model.h"

#include <cmath>
#include <string>

namespace oa::examples {
namespace {
namespace nn = ml::nn;

Result<Matrix> Rotate(const Matrix& x, const Matrix& cos, const Matrix& sin, uint64_t half) {
  OA_ASSIGN_OR_RETURN(Matrix lo, matrix::slice(x, 2, 0, half));
  OA_ASSIGN_OR_RETURN(Matrix hi, matrix::slice(x, 2, half, 2 * half));
  OA_ASSIGN_OR_RETURN(Matrix a, matrix::mul(lo, cos));
  OA_ASSIGN_OR_RETURN(Matrix b, matrix::mul(hi, sin));
  OA_ASSIGN_OR_RETURN(Matrix c, matrix::mul(lo, sin));
  OA_ASSIGN_OR_RETURN(Matrix d, matrix::mul(hi, cos));
  OA_ASSIGN_OR_RETURN(Matrix y, matrix::sub(a, b));
  OA_ASSIGN_OR_RETURN(Matrix z, matrix::add(c, d));
  return matrix::concat({y, z}, 2);
}
struct Builder {
  Graph& graph;
  std::string prefix;
  TransformerOptions o;
  uint64_t batch, length;
  Matrix mask, cos, sin;
  Result<Matrix> Heads(const Matrix& x) const {
    int64_t b = batch, s = length, h = o.heads, p = o.width / o.heads;
    OA_ASSIGN_OR_RETURN(Matrix y, matrix::reshape(x, {b, s, h, p}));
    OA_ASSIGN_OR_RETURN(y, matrix::transpose(y, 1, 2));
    return matrix::reshape(y, {b * h, s, p});
  }
  Result<Matrix> Attention(const std::string& name, const Matrix& x) const {
    const nn::Linear q(graph, name + ".query", o.width, o.width, {.bias = false});
    const nn::Linear k(graph, name + ".key", o.width, o.width, {.bias = false});
    const nn::Linear v(graph, name + ".value", o.width, o.width, {.bias = false});
    const nn::Linear out(graph, name + ".out", o.width, o.width, {.bias = false});
    OA_ASSIGN_OR_RETURN(Matrix qx, q(x));
    OA_ASSIGN_OR_RETURN(qx, Heads(qx));
    OA_ASSIGN_OR_RETURN(Matrix kx, k(x));
    OA_ASSIGN_OR_RETURN(kx, Heads(kx));
    OA_ASSIGN_OR_RETURN(Matrix vx, v(x));
    OA_ASSIGN_OR_RETURN(vx, Heads(vx));
    uint64_t half = o.width / o.heads / 2;
    OA_ASSIGN_OR_RETURN(qx, Rotate(qx, cos, sin, half));
    OA_ASSIGN_OR_RETURN(kx, Rotate(kx, cos, sin, half));
    OA_ASSIGN_OR_RETURN(Matrix s, ml::matrix::bmm_nt(qx, kx));
    OA_ASSIGN_OR_RETURN(s, matrix::scale(s, 1 / std::sqrt(2.0f * half)));
    OA_ASSIGN_OR_RETURN(s, matrix::add(s, mask));
    OA_ASSIGN_OR_RETURN(s, matrix::softmax(s, 2));
    OA_ASSIGN_OR_RETURN(s, ml::matrix::bmm(s, vx));
    int64_t b = batch, l = length, h = o.heads, p = o.width / o.heads;
    OA_ASSIGN_OR_RETURN(s, matrix::reshape(s, {b, h, l, p}));
    OA_ASSIGN_OR_RETURN(s, matrix::transpose(s, 1, 2));
    OA_ASSIGN_OR_RETURN(s, matrix::reshape(s, {b * l, h * p}));
    return out(s);
  }
};
}  // namespace

ByteModel Transformer(const TransformerOptions& o) {
  return [o](Graph& graph, const std::string& prefix, const Matrix& bytes, nn::Mode) -> Result<Matrix> {
    Builder b{graph, prefix, o, bytes.extent(0), bytes.extent(1), {}, {}, {}};
    std::vector<float> mask, cos, sin;
    for (uint64_t i = 0; i < b.length; ++i) for (uint64_t j = 0; j < b.length; ++j) mask.push_back(j > i ? -1e9f : 0);
    uint64_t half = o.width / o.heads / 2;
    for (uint64_t t = 0; t < b.length; ++t) for (uint64_t i = 0; i < half; ++i) {
      double phi = t * std::pow(10000.0, -double(i) / half);
      cos.push_back(std::cos(phi)); sin.push_back(std::sin(phi));
    }
    b.mask = graph.Constant("mask", {1, b.length, b.length}, mask);
    b.cos = graph.Constant("cos", {1, b.length, half}, cos);
    b.sin = graph.Constant("sin", {1, b.length, half}, sin);
    const nn::Embedding embedding(graph, prefix + "embedding", kByteValues, o.width);
    OA_ASSIGN_OR_RETURN(Matrix x, embedding(bytes));
    OA_ASSIGN_OR_RETURN(x, matrix::reshape(x, {-1, int64_t(o.width)}));
    for (uint64_t i = 0; i < o.layers; ++i) {
      const std::string name = prefix + "layer" + std::to_string(i);
      const nn::RmsNorm n1(graph, name + ".norm1", o.width), n2(graph, name + ".norm2", o.width);
      OA_ASSIGN_OR_RETURN(Matrix h, n1(x));
      OA_ASSIGN_OR_RETURN(h, b.Attention(name + ".attention", h));
      OA_ASSIGN_OR_RETURN(x, matrix::add(x, h));
      OA_ASSIGN_OR_RETURN(h, n2(x));
      const nn::SwiGluMlp mlp(graph, name + ".mlp", o.width, 2 * o.hidden);
      OA_ASSIGN_OR_RETURN(h, mlp(h));
      OA_ASSIGN_OR_RETURN(x, matrix::add(x, h));
    }
    const nn::RmsNorm norm(graph, prefix + "norm", o.width);
    OA_ASSIGN_OR_RETURN(x, norm(x));
    const nn::Linear logits(graph, prefix + "logits", o.width, kByteValues, {.bias = false});
    return logits(x);
  };
}
}  // namespace oa::examples
