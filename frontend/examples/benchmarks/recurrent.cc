#include <algorithm>

#include "frontend/examples/benchmarks/benchmarks.h"

namespace oa::examples {
namespace {

struct Sizes {
  uint64_t batch, steps, hidden;
};

// The last state of a scan; with gradients of everything that is trained.
absl::Status RecordGru(Graph& g, const Sizes& s, bool train) {
  const Matrix gates = g.Input("gates", F32, {s.batch, s.steps, 3 * s.hidden});
  const Parameter weight = g.Param("weight", {3 * s.hidden, s.hidden}, init::XavierUniform(1));
  const Parameter bias = g.Param("bias", {3 * s.hidden}, init::Zeros());
  const Matrix bias_data = bias;
  OA_ASSIGN_OR_RETURN(const Matrix states, ml::matrix::gru_scan(gates, weight, &bias_data));
  OA_ASSIGN_OR_RETURN(const Matrix last, matrix::slice(states, 1, s.steps - 1, s.steps));
  g.Output("last", last);
  if (!train) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(const Matrix loss, matrix::sum(states));
  OA_ASSIGN_OR_RETURN(const ml::autograd::Gradients gradients,
                      ml::autograd::Backward(loss, {&gates, 1}));
  OA_ASSIGN_OR_RETURN(const Matrix d_gates, gradients.Of(gates));
  OA_ASSIGN_OR_RETURN(const Matrix first, matrix::slice(d_gates, 1, 0, 1));
  g.Output("d_first_gates", first);
  OA_ASSIGN_OR_RETURN(const Matrix d_weight, gradients.Of(weight));
  g.Output("d_weight", d_weight);
  OA_ASSIGN_OR_RETURN(const Matrix d_bias, gradients.Of(bias));
  g.Output("d_bias", d_bias);
  return absl::OkStatus();
}

}  // namespace

std::vector<Benchmark> RecurrentBenchmarks(uint64_t scale) {
  const auto sizes = [scale](uint64_t hidden) {
    return Sizes{std::max<uint64_t>(64 / scale, 2), std::max<uint64_t>(256 / scale, 16),
                 std::max<uint64_t>(hidden / scale, 16)};
  };
  const Sizes narrow = sizes(128), wide = sizes(512);
  return {{"gru_128", [=](Graph& g) { return RecordGru(g, narrow, false); }},
          {"gru_128_train", [=](Graph& g) { return RecordGru(g, narrow, true); }},
          {"gru_512", [=](Graph& g) { return RecordGru(g, wide, false); }},
          {"gru_512_train", [=](Graph& g) { return RecordGru(g, wide, true); }}};
}

}  // namespace oa::examples
