#include <algorithm>
#include <cmath>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

Attributes Epsilon(float value = 1e-5f) { return Attributes().F32("epsilon", value); }

// Elements start, start + step, .. of x: their mean and 1 / sqrt of the variance around it.
struct Line {
  size_t start, step, count;
  size_t at(size_t i) const { return start + i * step; }
};

double MeanOf(const Tensor& x, const Line& line) {
  double sum = 0;
  for (size_t i = 0; i < line.count; ++i) sum += x[line.at(i)];
  return sum / static_cast<double>(line.count);
}

double RstdOf(const Tensor& x, const Line& line, double mean, double epsilon) {
  double sum = 0;
  for (size_t i = 0; i < line.count; ++i) sum += std::pow(x[line.at(i)] - mean, 2);
  return 1 / std::sqrt(sum / static_cast<double>(line.count) + epsilon);
}

// ---- Rows ----

// (x, weight[, bias]); centred with a bias, as it is for rms_norm without.
template <bool kCentred>
std::vector<Tensor> RowNorm(absl::Span<const Tensor> in, const Attributes& attributes) {
  const size_t n = in[0].shape.back();
  Tensor y(DType::F32, in[0].shape);
  for (size_t row = 0; row < in[0].size() / n; ++row) {
    const Line line = {row * n, 1, n};
    const double mean = kCentred ? MeanOf(in[0], line) : 0;
    const double rstd = RstdOf(in[0], line, mean, attributes.f32("epsilon"));
    for (size_t i = 0; i < n; ++i) {
      y[row * n + i] = (in[0][row * n + i] - mean) * rstd * in[1][i];
      if (kCentred) y[row * n + i] += in[2][i];
    }
  }
  return {y};
}

// (x, weight, bias or absent, gate).
std::vector<Tensor> GatedNorm(absl::Span<const Tensor> in, const Attributes& attributes) {
  const size_t n = in[0].shape.back(), groups = in[1].size() / n;
  Tensor y(DType::F32, in[0].shape);
  for (size_t row = 0; row < in[0].size() / n; ++row) {
    const double rstd = RstdOf(in[0], {row * n, 1, n}, 0, attributes.f32("epsilon"));
    for (size_t i = 0; i < n; ++i) {
      const size_t w = row % groups * n + i;
      const double affine =
          in[0][row * n + i] * rstd * in[1][w] + (in[2].present() ? in[2][w] : 0);
      const double gate = in[3][row * n + i];
      y[row * n + i] = affine * gate / (1 + std::exp(-gate));
    }
  }
  return {y};
}

template <bool kRectified>
std::vector<Tensor> ChannelNorm(absl::Span<const Tensor> in, const Attributes& attributes) {
  const size_t channels = in[0].shape[1], positions = in[0].shape[2];
  Tensor y(DType::F32, in[0].shape);
  for (size_t b = 0; b < in[0].shape[0]; ++b) {
    for (size_t t = 0; t < positions; ++t) {
      const Line line = {b * channels * positions + t, positions, channels};
      const double mean = MeanOf(in[0], line);
      const double rstd = RstdOf(in[0], line, mean, attributes.f32("epsilon"));
      for (size_t c = 0; c < channels; ++c) {
        const double value = (in[0][line.at(c)] - mean) * rstd * in[1][c] + in[2][c];
        y[line.at(c)] = kRectified ? std::max(value, 0.0) : value;
      }
    }
  }
  return {y};
}

// ---- Batches ----

Tensor Normalised(const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& weight, const Tensor& bias, double epsilon) {
  const size_t channels = x.shape[1], positions = x.shape[2] * x.shape[3];
  Tensor y(DType::F32, x.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / positions % channels;
    y[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * weight[c] + bias[c];
  }
  return y;
}

std::vector<Tensor> BatchNorm(absl::Span<const Tensor> in, const Attributes& attributes) {
  const Tensor& x = in[0];
  const size_t channels = x.shape[1], positions = x.shape[2] * x.shape[3];
  const double count = static_cast<double>(x.shape[0] * positions);
  Tensor mean(DType::F32, {channels}), variance(DType::F32, {channels});
  for (size_t i = 0; i < x.size(); ++i) mean[i / positions % channels] += x[i] / count;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / positions % channels;
    variance[c] += std::pow(x[i] - mean[c], 2) / count;
  }
  return {Normalised(x, mean, variance, in[1], in[2], attributes.f32("epsilon")), mean, variance};
}

std::vector<Tensor> BatchNormWithStats(absl::Span<const Tensor> in, const Attributes& attributes) {
  return {Normalised(in[0], in[1], in[2], in[3], in[4], attributes.f32("epsilon"))};
}

// ---- Samples ----

// `n` terms in each statistic.
Sample Check(std::vector<InputSpec> inputs, uint64_t n, float epsilon = 1e-5f) {
  Sample sample = {std::move(inputs), Epsilon(epsilon)};
  sample.tolerance = ReductionTolerance(static_cast<double>(n), 4);
  sample.gradient = {1e-4, 2e-4};
  return sample;
}

// Every attribute value that a row must refuse, and a call without it.
void RejectEpsilons(ReferenceOp& row) {
  const std::vector<InputSpec> inputs = row.samples[0].inputs;
  for (float bad : {0.0f, -1e-5f, INFINITY, NAN}) {
    row.rejections.push_back({"epsilon not positive and finite", inputs, Epsilon(bad)});
  }
  row.rejections.push_back({"no epsilon", inputs});
}

void Reject(ReferenceOp& row, const char* why, std::vector<InputSpec> inputs) {
  row.rejections.push_back({why, std::move(inputs), Epsilon()});
}

template <bool kCentred>
ReferenceOp RowNormOp(const char* name) {
  ReferenceOp row = {name, RowNorm<kCentred>};
  const auto inputs = [](Shape shape) {
    const uint64_t n = shape.back();
    std::vector<InputSpec> list = {Uniform(std::move(shape)), Uniform({n})};
    if (kCentred) list.push_back(Uniform({n}));
    return list;
  };
  for (const Shape& shape : {Shape{7}, {4, 3}, {3, 5, 64}, {2, 257}, {2, 1500}, {1100, 9},
                             {33, 16}, {3, 4100}}) {
    row.samples.push_back(Check(inputs(shape), std::max(shape.back(), shape[0])));
  }
  row.samples.push_back(Check(inputs({5, 6}), 6, 0.5f));
  if (kCentred) {  // a mean far from zero costs no accuracy
    for (const Shape& shape : {Shape{3, 5}, {4, 64}, {2, 1500}}) {
      row.samples.push_back(Check(inputs(shape), shape.back()));
      row.samples.back().inputs[0] = Uniform(shape, 998, 1002);
    }
  }
  RejectEpsilons(row);
  std::vector<InputSpec> bad = inputs({4, 3});
  bad[1] = Uniform({4});
  Reject(row, "weight of another extent", bad);
  bad[1] = Uniform({1, 3});
  Reject(row, "weight of rank 2", bad);
  bad[1] = Integers(DType::I32, {3}, 0, 1);
  Reject(row, "integer weight", bad);
  Reject(row, "a zero extent", inputs({0, 3}));
  if (kCentred) {
    bad = inputs({4, 3});
    bad[2] = Uniform({1});
    Reject(row, "bias of another extent", bad);
  }
  return row;
}

ReferenceOp GatedOp() {
  ReferenceOp row = {"rms_norm_gated", GatedNorm};
  const auto add = [&row](Shape x, Shape weight, bool bias) {
    row.samples.push_back(Check({Uniform(x), Uniform(weight), bias ? Uniform(weight) : Absent(),
                                 Uniform(x, -4, 4)},
                                std::max(x.back(), x[0])));
  };
  add({4, 3}, {3}, true);
  add({7}, {7}, false);
  add({6, 5}, {3, 5}, true);
  add({2, 3, 4, 16}, {4, 16}, false);
  add({2, 6, 33}, {2, 3, 33}, true);
  add({3, 1030}, {1030}, true);
  add({1200, 5}, {1, 5}, true);
  RejectEpsilons(row);
  const InputSpec x = Uniform({4, 3}), w = Uniform({3});
  Reject(row, "gate of another shape", {x, w, Absent(), Uniform({3, 4})});
  Reject(row, "weight of another last extent", {x, Uniform({4}), Absent(), x});
  Reject(row, "rows that the groups do not divide", {x, Uniform({3, 3}), Absent(), x});
  Reject(row, "bias unlike the weight", {x, w, Uniform({1, 3}), x});
  Reject(row, "no gate", {x, w, w, Absent()});
  Reject(row, "a zero extent", {Uniform({0, 3}), w, w, Uniform({0, 3})});
  return row;
}

template <bool kRectified>
ReferenceOp ChannelNormOp(const char* name) {
  ReferenceOp row = {name, ChannelNorm<kRectified>};
  const auto inputs = [](uint64_t b, uint64_t c, uint64_t t) {
    // A bias away from the weights keeps the kink of the rectified form rare, not absent.
    return std::vector<InputSpec>{Uniform({b, c, t}), Uniform({c}), Uniform({c}, -1, 1)};
  };
  row.samples = {Check(inputs(2, 3, 4), 3),    Check(inputs(1, 5, 1), 5),
                 Check(inputs(3, 16, 1), 16),  Check(inputs(2, 33, 37), 74),
                 Check(inputs(1, 130, 5), 130), Check(inputs(1, 1024, 3), 1024),
                 Check(inputs(2, 4, 300), 600)};
  if (!kRectified) {  // a mean far from zero costs no accuracy
    row.samples.push_back(Check(inputs(2, 7, 3), 7));
    row.samples.back().inputs[0] = Uniform({2, 7, 3}, 998, 1002);
  }
  RejectEpsilons(row);
  const InputSpec x = Uniform({2, 3, 4}), w = Uniform({3});
  Reject(row, "x of rank 2", {Uniform({3, 4}), w, w});
  Reject(row, "x of rank 4", {Uniform({2, 3, 4, 1}), w, w});
  Reject(row, "too many channels", {Uniform({1, 1025, 1}), Uniform({1025}), Uniform({1025})});
  Reject(row, "weight of another extent", {x, Uniform({4}), w});
  Reject(row, "bias of another extent", {x, w, Uniform({2})});
  Reject(row, "a zero extent", {Uniform({2, 3, 0}), w, w});
  return row;
}

std::vector<InputSpec> Images(Shape shape, bool with_stats) {
  const uint64_t c = shape[1];
  std::vector<InputSpec> inputs = {Uniform(std::move(shape))};
  if (with_stats) {
    inputs.push_back(Uniform({c}));
    inputs.push_back(Uniform({c}, 0.25, 3));
  }
  inputs.push_back(Uniform({c}));
  inputs.push_back(Uniform({c}));
  return inputs;
}

ReferenceOp BatchNormOp(bool with_stats) {
  ReferenceOp row = {with_stats ? "batch_norm_2d_with_stats" : "batch_norm_2d",
                     with_stats ? BatchNormWithStats : BatchNorm};
  for (const Shape& shape :
       {Shape{2, 3, 4, 5}, {3, 1, 2, 2}, {7, 5, 1, 1}, {2, 4, 17, 19}, {1, 2, 33, 40}}) {
    row.samples.push_back(
        Check(Images(shape, with_stats), shape[0] * shape[2] * shape[3]));
  }
  RejectEpsilons(row);
  Reject(row, "x of rank 3", Images({2, 3, 4}, with_stats));
  Reject(row, "x of rank 5", Images({2, 3, 4, 1, 1}, with_stats));
  Reject(row, "a zero extent", Images({2, 3, 0, 4}, with_stats));
  for (size_t i = 1; i < row.samples[0].inputs.size(); ++i) {
    std::vector<InputSpec> inputs = row.samples[0].inputs;
    inputs[i] = Uniform({1});
    Reject(row, "a vector of another extent", inputs);
  }
  return row;
}

}  // namespace

std::vector<ReferenceOp> NormReference() {
  return {RowNormOp<false>("rms_norm"),
          RowNormOp<true>("layer_norm"),
          GatedOp(),
          ChannelNormOp<false>("channel_norm"),
          ChannelNormOp<true>("channel_norm_relu"),
          BatchNormOp(false),
          BatchNormOp(true)};
}

}  // namespace oa::reference
