#include <algorithm>

#include "frontend/examples/benchmarks/benchmarks.h"

namespace oa::examples {
namespace {

// heads are those of the whole batch.
struct Sizes {
  uint64_t heads, length, width;
};

// Causal attention; with the gradients of query, key and value. Small outputs: slices and sums.
absl::Status RecordAttention(Graph& g, const Sizes& s, bool train) {
  const Shape shape = {s.heads, s.length, s.width};
  const std::vector<std::string> names = {"query", "key", "value"};
  std::vector<Matrix> qkv;
  for (const std::string& name : names) qkv.push_back(g.Input(name, F32, shape));
  OA_ASSIGN_OR_RETURN(const Matrix y, ml::matrix::scaled_dot_product_attention(
                                          qkv[0], qkv[1], qkv[2], nullptr, 0.125f, true));
  OA_ASSIGN_OR_RETURN(const Matrix last, matrix::slice(y, 1, s.length - 1, s.length));
  g.Output("last", last);
  if (!train) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Matrix loss, matrix::sum(y));
  OA_ASSIGN_OR_RETURN(const ml::autograd::Gradients gradients, ml::autograd::Backward(loss, qkv));
  for (size_t i = 0; i < qkv.size(); ++i) {
    OA_ASSIGN_OR_RETURN(const Matrix gradient, gradients.Of(qkv[i]));
    OA_ASSIGN_OR_RETURN(const Matrix first, matrix::slice(gradient, 1, 0, 1));
    g.Output("d_" + names[i], first);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Benchmark> AttentionBenchmarks(uint64_t scale) {
  const Sizes sizes = {std::max<uint64_t>(64 / scale, 1), std::max<uint64_t>(2048 / scale, 64), 64};
  const Sizes wide = {std::max<uint64_t>(sizes.heads / 2, 1), sizes.length, 128};
  return {{"attention_64", [=](Graph& g) { return RecordAttention(g, sizes, false); }},
          {"attention_64_train", [=](Graph& g) { return RecordAttention(g, sizes, true); }},
          {"attention_128", [=](Graph& g) { return RecordAttention(g, wide, false); }},
          {"attention_128_train", [=](Graph& g) { return RecordAttention(g, wide, true); }}};
}

}  // namespace oa::examples
