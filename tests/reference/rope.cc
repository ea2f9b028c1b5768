#include <algorithm>
#include <cmath>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

template <bool kSequences>
std::vector<Tensor> Rope(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const size_t heads = static_cast<size_t>(attributes.i64("num_heads"));
  const size_t dim = static_cast<size_t>(attributes.i64("head_dim")), half = dim / 2;
  const double theta = attributes.f32("theta_base");
  const double offset = static_cast<double>(attributes.i64("position_offset"));
  const size_t period =
      kSequences ? static_cast<size_t>(attributes.i64("sequence_length")) : x.shape[0];
  Tensor y(DType::F32, x.shape);
  for (size_t t = 0; t < x.shape[0]; ++t) {
    for (size_t h = 0; h < heads; ++h) {
      for (size_t i = 0; i < half; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dim);
        const double phi = (static_cast<double>(t % period) + offset) * std::pow(theta, exponent);
        const size_t low = (t * heads + h) * dim + i, high = low + half;
        y[low] = x[low] * std::cos(phi) - x[high] * std::sin(phi);
        y[high] = x[low] * std::sin(phi) + x[high] * std::cos(phi);
      }
    }
  }
  return {y};
}

Attributes RopeAttributes(int64_t heads, int64_t dim, float theta, int64_t offset) {
  return Attributes()
      .I64("num_heads", heads)
      .I64("head_dim", dim)
      .F32("theta_base", theta)
      .I64("position_offset", offset);
}

Sample RopeSample(uint64_t tokens, int64_t heads, int64_t dim, float theta, int64_t offset) {
  Sample sample = {{Uniform({tokens, static_cast<uint64_t>(heads * dim)})},
                   RopeAttributes(heads, dim, theta, offset)};
  const double position = static_cast<double>(tokens) - 1 + static_cast<double>(offset);
  const double angle = 4e-7 * std::max(1.0, position) * 2;
  sample.tolerance.atol += angle;
  sample.gradient.atol += angle;
  return sample;
}

}  // namespace

std::vector<ReferenceOp> RopeReference() {
  ReferenceOp row = {"rope", Rope<false>};
  row.samples = {RopeSample(1, 1, 2, 10000, 0),  RopeSample(1, 2, 4, 10000, 3),
                 RopeSample(40, 3, 8, 10000, 0), RopeSample(17, 2, 64, 500000, 300),
                 RopeSample(5, 1, 6, 1, 0),      RopeSample(3, 1, 4, 0.5f, 1)};
  row.rejections = {
      {"rank 3", {Uniform({2, 2, 4})}, RopeAttributes(1, 4, 10000, 0)},
      {"another width", {Uniform({2, 6})}, RopeAttributes(1, 4, 10000, 0)},
      {"no heads", {Uniform({2, 4})}, RopeAttributes(0, 4, 10000, 0)},
      {"an odd head", {Uniform({2, 3})}, RopeAttributes(1, 3, 10000, 0)},
      {"a theta of 0", {Uniform({2, 4})}, RopeAttributes(1, 4, 0, 0)},
      {"an infinite theta", {Uniform({2, 4})}, RopeAttributes(1, 4, HUGE_VALF, 0)},
      {"positions past 2^32-1", {Uniform({2, 4})}, RopeAttributes(1, 4, 10000, 4294967295)},
      {"no elements", {Uniform({0, 4})}, RopeAttributes(1, 4, 10000, 0)},
  };
  ReferenceOp sequences = {"rope_sequences", Rope<true>};
  const auto of_length = [](Attributes attributes, int64_t length) {
    return attributes.I64("sequence_length", length);
  };
  for (int64_t length : {1, 5, 20}) {
    Sample sample = RopeSample(20, 2, 6, 10000, 2);
    sample.attributes = of_length(sample.attributes, length);
    sequences.samples.push_back(sample);
  }
  sequences.rejections = {
      {"no length", {Uniform({4, 4})}, of_length(RopeAttributes(1, 4, 10000, 0), 0)},
      {"a length that does not divide",
       {Uniform({4, 4})},
       of_length(RopeAttributes(1, 4, 10000, 0), 3)}};
  return {row, sequences};
}

}  // namespace oa::reference
