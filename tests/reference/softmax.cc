#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/axis_loops.h"
#include "tests/reference/reference.h"

namespace oa::reference {

std::vector<ReferenceOp> SoftmaxReference();  // used by reduce.cc

namespace {

using ir::Attributes;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Attributes Axis(int64_t axis) { return Attributes().I64("axis", axis); }

template <bool kLogarithm>
std::vector<Tensor> Softmax(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const AxisView view(x.shape, attributes.i64("axis"));
  Tensor y(DType::F32, x.shape);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      double largest = -kInf, sum = 0;
      for (size_t e = 0; e < view.extent; ++e) largest = std::max(largest, x[view.at(o, e, i)]);
      if (largest == -kInf) largest = 0;  // nothing but -inf
      for (size_t e = 0; e < view.extent; ++e) sum += std::exp(x[view.at(o, e, i)] - largest);
      for (size_t e = 0; e < view.extent; ++e) {
        const double z = x[view.at(o, e, i)] - largest;
        const double probability = sum == 0 ? 0 : std::exp(z) / sum;
        y[view.at(o, e, i)] = !kLogarithm ? probability : sum == 0 ? -kInf : z - std::log(sum);
      }
    }
  }
  return {y};
}

Sample SoftmaxSample(Shape shape, int64_t axis, double range = 4) {
  Sample sample = {{Uniform(shape, -range, range)}, Axis(axis)};
  sample.tolerance = ReductionTolerance(static_cast<double>(shape[axis]));
  return sample;
}

template <bool kLogarithm>
ReferenceOp SoftmaxOp() {
  ReferenceOp row = {kLogarithm ? "log_softmax" : "softmax", Softmax<kLogarithm>};
  row.samples = {
      SoftmaxSample({1}, 0),         SoftmaxSample({3, 5, 7}, 0),  SoftmaxSample({3, 5, 7}, 1),
      SoftmaxSample({3, 5, 7}, 2),   SoftmaxSample({1, 1, 1}, 1),  SoftmaxSample({33, 10}, 1),
      SoftmaxSample({5, 64}, 1),     SoftmaxSample({2, 257}, 1),   SoftmaxSample({3, 1024}, 1),
      SoftmaxSample({2, 4096}, 1),   SoftmaxSample({2, 5003}, 1),  SoftmaxSample({2, 8000}, 1),
      SoftmaxSample({300, 3}, 0),    SoftmaxSample({2, 259, 40}, 1), SoftmaxSample({2, 8, 600}, 1),
      SoftmaxSample({4, 9}, 1, 80),
  };
  row.samples.push_back({{Values(DType::F32, {3, 3},
                                 {-kInf, -kInf, -kInf, 1, -kInf, 2, kNan, 0, 1})},
                         Axis(1)});
  row.samples.back().differentiate = false;
  row.rejections = {
      {"an axis past the rank", {Uniform({2, 3})}, Axis(2)},
      {"a negative axis", {Uniform({2, 3})}, Axis(-1)},
      {"no elements", {Uniform({2, 0})}, Axis(1)},
      {"an I32 operand", {Integers(DType::I32, {3}, 0, 5)}, Axis(0)},
      {"no attribute", {Uniform({3})}},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> SoftmaxReference() { return {SoftmaxOp<false>(), SoftmaxOp<true>()}; }

}  // namespace oa::reference
