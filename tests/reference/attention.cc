#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- split_heads, merge_heads ----

template <bool kSplit>
std::vector<Tensor> Heads(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const uint64_t batch = static_cast<uint64_t>(attributes.i64("batch"));
  const uint64_t length = static_cast<uint64_t>(attributes.i64("sequence_length"));
  const uint64_t heads = static_cast<uint64_t>(attributes.i64("num_heads"));
  const uint64_t width = x.size() / (batch * length * heads);
  Tensor y(DType::F32,
           kSplit ? Shape{batch * heads, length, width} : Shape{batch * length, heads * width});
  for (uint64_t b = 0; b < batch; ++b) {
    for (uint64_t s = 0; s < length; ++s) {
      for (uint64_t h = 0; h < heads; ++h) {
        for (uint64_t p = 0; p < width; ++p) {
          const uint64_t packed = ((b * length + s) * heads + h) * width + p;
          const uint64_t split = ((b * heads + h) * length + s) * width + p;
          if (kSplit) y[split] = x[packed];
          if (!kSplit) y[packed] = x[split];
        }
      }
    }
  }
  return {y};
}

Attributes HeadAttributes(int64_t batch, int64_t length, int64_t heads) {
  return Attributes().I64("batch", batch).I64("sequence_length", length).I64("num_heads", heads);
}

ReferenceOp SplitHeadsOp() {
  ReferenceOp row = {"split_heads", Heads<true>};
  row.samples = {{{Uniform({6, 8})}, HeadAttributes(2, 3, 4), kExact},
                 {{Uniform({35, 15})}, HeadAttributes(5, 7, 3), kExact},
                 {{Uniform({6, 5})}, HeadAttributes(2, 3, 1), kExact}};
  row.rejections = {{"rank 1", {Uniform({6})}, HeadAttributes(2, 3, 1)},
                    {"another number of rows", {Uniform({7, 8})}, HeadAttributes(2, 3, 4)},
                    {"a width that is no multiple", {Uniform({6, 9})}, HeadAttributes(2, 3, 4)},
                    {"no heads", {Uniform({6, 8})}, HeadAttributes(2, 3, 0)},
                    {"no elements", {Uniform({6, 0})}, HeadAttributes(2, 3, 4)}};
  return row;
}

ReferenceOp MergeHeadsOp() {
  ReferenceOp row = {"merge_heads", Heads<false>};
  row.samples = {{{Uniform({8, 3, 2})}, HeadAttributes(2, 3, 4), kExact},
                 {{Uniform({15, 7, 5})}, HeadAttributes(5, 7, 3), kExact},
                 {{Uniform({2, 3, 5})}, HeadAttributes(2, 3, 1), kExact}};
  row.rejections = {{"rank 2", {Uniform({8, 3})}, HeadAttributes(2, 3, 4)},
                    {"another extent 0", {Uniform({7, 3, 2})}, HeadAttributes(2, 3, 4)},
                    {"another length", {Uniform({8, 4, 2})}, HeadAttributes(2, 3, 4)},
                    {"no batch", {Uniform({8, 3, 2})}, HeadAttributes(0, 3, 4)}};
  return row;
}

// ---- softmax_scaled_masked ----

// In place; -inf entries give 0, and so do rows of nothing else.
void SoftmaxRow(double* z, size_t columns) {
  double largest = -kInf, sum = 0;
  for (size_t c = 0; c < columns; ++c) largest = std::max(largest, z[c]);
  if (largest == -kInf) largest = 0;
  for (size_t c = 0; c < columns; ++c) sum += z[c] = std::exp(z[c] - largest);
  for (size_t c = 0; c < columns; ++c) z[c] = sum == 0 ? 0 : z[c] / sum;
}

std::vector<Tensor> SoftmaxScaledMasked(absl::Span<const Tensor> inputs,
                                        const Attributes& attributes) {
  const double scale = attributes.f32("scale");
  Tensor y = inputs[0];
  for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] * scale + inputs[1][i];
  const size_t columns = y.shape.back();
  for (size_t r = 0; r < y.size() / columns; ++r) SoftmaxRow(&y.data[r * columns], columns);
  return {y};
}

Sample SoftmaxSample(Shape shape, float scale) {
  Sample sample = {{Uniform(shape), Uniform(shape)}, Attributes().F32("scale", scale)};
  sample.tolerance = ReductionTolerance(static_cast<double>(shape.back()));
  return sample;
}

ReferenceOp SoftmaxScaledMaskedOp() {
  const Attributes half = Attributes().F32("scale", 0.5f);
  ReferenceOp row = {"softmax_scaled_masked", SoftmaxScaledMasked};
  row.samples = {SoftmaxSample({1}, 1), SoftmaxSample({3, 5}, 0.5f), SoftmaxSample({2, 3, 300}, 2),
                 SoftmaxSample({33, 64}, 0.125f)};
  row.samples.push_back({{Uniform({3, 3}), Values(DType::F32, {3, 3},
                                                  {-kInf, -kInf, -kInf, 0, -kInf, 1, 0, 0, -kInf})},
                         half});
  row.rejections = {{"unequal shapes", {Uniform({3, 5}), Uniform({5})}, half},
                    {"no elements", {Uniform({3, 0}), Uniform({3, 0})}, half},
                    {"an I32 mask", {Uniform({3}), Integers(DType::I32, {3}, 0, 1)}, half}};
  return row;
}

// ---- scaled_dot_product_attention ----

// P of one query, in `p`; returns the log of the sum of exponentials, +inf for no visible key.
double Probabilities(absl::Span<const Tensor> inputs, const Attributes& attributes, size_t row,
                     double* p) {
  const Tensor& q = inputs[0];
  const size_t length = q.shape[1], width = q.shape[2];
  const size_t first = row / length * length;  // row of the first key of this batch head
  for (size_t j = 0; j < length; ++j) {
    double dot = 0;
    for (size_t d = 0; d < width; ++d) {
      dot += q[row * width + d] * inputs[1][(first + j) * width + d];
    }
    p[j] = dot * attributes.f32("scale");
    if (inputs[3].present()) p[j] += inputs[3][row * length + j];
    if (attributes.boolean("causal") && j > row - first) p[j] = -kInf;
  }
  const double largest = *std::max_element(p, p + length);
  double sum = 0;
  for (size_t j = 0; j < length; ++j) sum += std::exp(p[j] - largest);
  SoftmaxRow(p, length);
  return largest == -kInf ? kInf : largest + std::log(sum);
}

std::vector<Tensor> Attention(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  const size_t length = shape[1], width = shape[2];
  Tensor y(DType::F32, shape), lse(DType::F32, {shape[0], length});
  std::vector<double> p(length);
  for (size_t row = 0; row < shape[0] * length; ++row) {
    lse[row] = Probabilities(inputs, attributes, row, p.data());
    for (size_t j = 0; j < length; ++j) {
      for (size_t d = 0; d < width; ++d) {
        y[row * width + d] += p[j] * inputs[2][(row / length * length + j) * width + d];
      }
    }
  }
  return {y, lse};
}

Attributes AttentionAttributes(float scale, bool causal, const char* provider = "any") {
  return Attributes().F32("scale", scale).Bool("causal", causal).Token("provider", provider);
}

Sample AttentionSample(Shape shape, bool masked, bool causal) {
  Sample sample = {{Uniform(shape), Uniform(shape), Uniform(shape),
                    masked ? Uniform({shape[0] * shape[1], shape[1]}) : Absent()},
                   AttentionAttributes(0.5f, causal)};
  sample.tolerance = ReductionTolerance(static_cast<double>(shape[1] * shape[2]), 4);
  sample.gradient = {2e-4, 5e-4};
  return sample;
}

ReferenceOp AttentionOp() {
  ReferenceOp row = {"scaled_dot_product_attention", Attention};
  row.samples = {
      AttentionSample({1, 1, 1}, false, false), AttentionSample({2, 5, 3}, false, false),
      AttentionSample({3, 7, 4}, true, false),  AttentionSample({2, 9, 8}, false, true),
      AttentionSample({2, 6, 5}, true, true),   AttentionSample({2, 40, 16}, false, true)};
  const Attributes plain = AttentionAttributes(1, false);
  const InputSpec x = Uniform({2, 5, 3});
  row.rejections = {
      {"rank 2", {Uniform({5, 3}), Uniform({5, 3}), Uniform({5, 3}), Absent()}, plain},
      {"another key shape", {x, Uniform({2, 4, 3}), x, Absent()}, plain},
      {"another value shape", {x, x, Uniform({2, 5, 4}), Absent()}, plain},
      {"another mask shape", {x, x, x, Uniform({5, 5})}, plain},
      {"no elements",
       {Uniform({2, 0, 3}), Uniform({2, 0, 3}), Uniform({2, 0, 3}), Absent()},
       plain},
      {"flash without causality", {x, x, x, Absent()}, AttentionAttributes(1, false, "flash")},
      {"flash with a mask", {x, x, x, Uniform({10, 5})}, AttentionAttributes(1, true, "flash")},
  };
  const InputSpec long_x = Uniform({1, 1025, 2});
  row.rejections.push_back({"flash beyond 1024 positions",
                            {long_x, long_x, long_x, Absent()},
                            AttentionAttributes(1, true, "flash")});
  return row;
}

}  // namespace

std::vector<ReferenceOp> AttentionReference() {
  return {SplitHeadsOp(), MergeHeadsOp(), SoftmaxScaledMaskedOp(), AttentionOp()};
}

}  // namespace oa::reference
