#include <cmath>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One step of one batch element: i [gates * H], h and the result [H].
void Step(bool gru, size_t hidden, const double* i, const double* h, const Tensor& weight,
          const Tensor& bias, double* result) {
  std::vector<double> p(weight.shape[0]);
  for (size_t row = 0; row < p.size(); ++row) {
    if (bias.present()) p[row] = bias[row];
    for (size_t k = 0; k < hidden; ++k) p[row] += weight[row * hidden + k] * h[k];
  }
  for (size_t u = 0; u < hidden; ++u) {
    if (!gru) {
      result[u] = std::tanh(i[u] + p[u]);
      continue;
    }
    const double r = Sigmoid(i[u] + p[u]);
    const double z = Sigmoid(i[hidden + u] + p[hidden + u]);
    const double n = std::tanh(i[2 * hidden + u] + r * p[2 * hidden + u]);
    result[u] = (1 - z) * n + z * h[u];
  }
}

// (gates_i, hidden, weight_hh, bias_hh or absent).
template <bool kGru>
std::vector<Tensor> Cell(absl::Span<const Tensor> in, const Attributes&) {
  const size_t hidden = in[2].shape[1], width = in[2].shape[0];
  Tensor y(DType::F32, in[1].shape);
  for (size_t b = 0; b < y.shape[0]; ++b) {
    Step(kGru, hidden, &in[0].data[b * width], &in[1].data[b * hidden], in[2], in[3],
         &y.data[b * hidden]);
  }
  return {y};
}

// (gates_i, weight_hh, bias_hh or absent).
template <bool kGru>
std::vector<Tensor> Scan(absl::Span<const Tensor> in, const Attributes&) {
  const size_t hidden = in[1].shape[1], width = in[1].shape[0], steps = in[0].shape[1];
  Tensor y(DType::F32, {in[0].shape[0], steps, hidden});
  for (size_t b = 0; b < y.shape[0]; ++b) {
    std::vector<double> h(hidden);
    for (size_t t = 0; t < steps; ++t) {
      double* next = &y.data[(b * steps + t) * hidden];
      Step(kGru, hidden, &in[0].data[(b * steps + t) * width], h.data(), in[1], in[2], next);
      h.assign(next, next + hidden);
    }
  }
  return {y};
}

// Weights small enough that long scans keep the scale of their states.
Sample Check(std::vector<InputSpec> inputs, uint64_t hidden, uint64_t steps) {
  Sample sample = {std::move(inputs), {}};
  sample.tolerance = ReductionTolerance(static_cast<double>(hidden));
  sample.tolerance.atol *= static_cast<double>(steps);
  sample.tolerance.rtol *= static_cast<double>(steps);
  sample.gradient = {1e-4, 3e-4};
  return sample;
}

InputSpec Weight(uint64_t gates, uint64_t hidden) {
  const double bound = 1.5 / std::sqrt(static_cast<double>(hidden));
  return Uniform({gates * hidden, hidden}, -bound, bound);
}

InputSpec Bias(uint64_t gates, uint64_t hidden, bool present) {
  return present ? Uniform({gates * hidden}, -0.5, 0.5) : Absent();
}

void RejectAll(ReferenceOp& row, uint64_t gates, size_t weight) {
  const std::vector<InputSpec> good = row.samples[0].inputs;
  const auto reject = [&](const char* why, size_t operand, InputSpec spec) {
    std::vector<InputSpec> inputs = good;
    inputs[operand] = std::move(spec);
    row.rejections.push_back({why, std::move(inputs)});
  };
  const Shape gates_i = good[0].shape;
  const uint64_t hidden = good[weight].shape[1];
  Shape other = gates_i;
  other.back() += gates;
  reject("gates of another width", 0, Uniform(other));
  other.back() = gates_i.back() + 1;
  reject("gates of a width that is no multiple", 0, Uniform(other));
  other = gates_i;
  other.push_back(1);
  reject("gates of another rank", 0, Uniform(other));
  other = gates_i;
  other[0] = 0;
  reject("a zero extent", 0, Uniform(other));
  reject("integer gates", 0, Integers(DType::I32, gates_i, 0, 1));
  reject("a transposed weight", weight, Uniform({hidden, gates * hidden + 1}));
  reject("a weight of rank 1", weight, Uniform({gates * hidden}));
  reject("a bias of another extent", weight + 1, Uniform({gates * hidden + 1}));
  reject("a bias of rank 2", weight + 1, Uniform({1, gates * hidden}));
  reject("no weight", weight, Absent());
  if (weight == 2) {
    reject("a state of another batch", 1, Uniform({gates_i[0] + 1, hidden}));
    reject("a state of another width", 1, Uniform({gates_i[0], hidden + 1}));
    reject("a state of rank 3", 1, Uniform({gates_i[0], 1, hidden}));
    reject("no state", 1, Absent());
  }
  std::vector<InputSpec> large = {Uniform({1, gates * 1025}), Uniform({1, 1025}),
                                  Uniform({gates * 1025, 1025}), Absent()};
  if (weight == 1) large = {Uniform({1, 1, gates * 1025}), large[2], Absent()};
  row.rejections.push_back({"a hidden size above 1024", std::move(large)});
}

template <bool kGru>
ReferenceOp CellOp(const char* name) {
  constexpr uint64_t kGates = kGru ? 3 : 1;
  ReferenceOp row = {name, Cell<kGru>};
  const auto add = [&row](uint64_t batch, uint64_t hidden, bool bias) {
    row.samples.push_back(Check({Uniform({batch, kGates * hidden}), Uniform({batch, hidden}, -1, 1),
                                 Weight(kGates, hidden), Bias(kGates, hidden, bias)},
                                hidden, 1));
  };
  add(2, 3, true);
  add(1, 1, true);
  add(7, 5, false);
  add(33, 17, true);
  add(3, 129, false);
  add(300, 4, true);
  add(2, 1024, true);
  row.samples.back().differentiate = false;  // the plain loop would take minutes
  RejectAll(row, kGates, 2);
  return row;
}

// Short and long, narrow and wide, on both sides of every choice the lowering makes: a few lanes to
// a unit, several units to a lane, a dispatch a step (from 65536 terms a step on CPU devices).
template <bool kGru>
ReferenceOp ScanOp(const char* name) {
  constexpr uint64_t kGates = kGru ? 3 : 1;
  ReferenceOp row = {name, Scan<kGru>};
  const auto add = [&row](uint64_t batch, uint64_t steps, uint64_t hidden, bool bias) {
    row.samples.push_back(Check({Uniform({batch, steps, kGates * hidden}), Weight(kGates, hidden),
                                 Bias(kGates, hidden, bias)},
                                hidden, steps));
  };
  add(2, 3, 3, true);
  add(1, 1, 1, true);
  add(3, 1, 5, false);
  add(5, 7, 1, true);
  add(2, 5, 8, false);
  add(2, 4, 17, true);
  add(1, 3, 67, true);
  add(40, 3, 41, true);
  add(40, 3, 48, false);
  add(1, 2, 300, true);
  for (Sample& sample : row.samples) sample.gradient.rtol *= 2;
  row.samples.back().differentiate = false;  // the plain loop would take minutes
  add(1, 3, 1024, true);
  row.samples.back().differentiate = false;
  add(1, 3000, 2, true);
  row.samples.back().tolerance = {2e-4, 2e-4};
  row.samples.back().gradient = {2e-3, 1e-3};
  RejectAll(row, kGates, 1);
  return row;
}

}  // namespace

std::vector<ReferenceOp> RecurrentReference() {
  return {CellOp<false>("rnn_cell"), ScanOp<false>("rnn_scan"), CellOp<true>("gru_cell"),
          ScanOp<true>("gru_scan")};
}

}  // namespace oa::reference
