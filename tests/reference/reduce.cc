#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tests/reference/axis_loops.h"
#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Attributes Axis(std::optional<int64_t> axis) { return Attributes().Optional("axis", axis); }
Attributes AxisI64(int64_t axis) { return Attributes().I64("axis", axis); }
Attributes ShapeOf(std::vector<int64_t> shape) { return Attributes().List("shape", shape); }

// ---- sum, mean ----

template <bool kMean>
std::vector<Tensor> Sum(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const std::optional<int64_t> axis = attributes.optional("axis");
  Shape shape = axis ? inputs[0].shape : Shape{1};
  if (axis) shape[*axis] = 1;
  AxisView view(axis ? inputs[0].shape : Shape{inputs[0].size()}, axis.value_or(0));
  Tensor y(DType::F32, shape);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      double sum = 0;
      for (size_t e = 0; e < view.extent; ++e) sum += inputs[0][view.at(o, e, i)];
      y[o * view.inner + i] = kMean ? sum / static_cast<double>(view.extent) : sum;
    }
  }
  return {y};
}

Sample SumSample(Shape shape, std::optional<int64_t> axis) {
  const double terms =
      axis ? static_cast<double>(shape[*axis]) : static_cast<double>(CountOf(shape));
  return {{Uniform(shape)}, Axis(axis), ReductionTolerance(terms, 2)};
}

template <bool kMean>
ReferenceOp SumOp() {
  ReferenceOp row = {kMean ? "mean" : "sum", Sum<kMean>};
  row.samples = {
      SumSample({1}, std::nullopt),       SumSample({3, 5, 7}, std::nullopt),
      SumSample({3, 5, 7}, 0),            SumSample({3, 5, 7}, 1),
      SumSample({3, 5, 7}, 2),            SumSample({1, 1, 1}, 1),
      SumSample({70001}, std::nullopt),   SumSample({2, 300000}, std::nullopt),
      SumSample({2, 1031}, 1),            SumSample({3, 4100}, 1),
      SumSample({1031, 2}, 0),            SumSample({2500, 37}, 0),
      SumSample({2, 20000, 3}, 1),        SumSample({600, 4}, 1),
      SumSample({40, 64}, 1),             SumSample({7, 2, 1, 260}, 1),
      SumSample({2, 2, 2, 2, 2, 2, 2, 3}, 4),
  };
  row.samples[7].differentiate = false;  // the oracle would take too long
  row.samples.push_back({{Values(DType::F32, {2, 3}, {1, kNan, 2, kInf, 1, -kInf})}, Axis(1)});
  row.samples.back().differentiate = false;
  row.rejections = {
      {"an axis past the rank", {Uniform({2, 3})}, Axis(2)},
      {"a negative axis", {Uniform({2, 3})}, Axis(-1)},
      {"an I32 operand", {Integers(DType::I32, {3}, 0, 5)}, Axis(std::nullopt)},
      {"no operand", {}, Axis(0)},
      {"an axis of another kind", {Uniform({3})}, AxisI64(0)},
  };
  if (kMean) {
    row.rejections.push_back({"no elements", {Uniform({0, 3})}, Axis(std::nullopt)});
  } else {
    row.samples.push_back(SumSample({0, 3}, std::nullopt));
    row.samples.push_back(SumSample({0, 3}, 0));
    row.samples.push_back(SumSample({0, 3}, 1));
    for (size_t i = 1; i <= 3; ++i) row.samples[row.samples.size() - i].differentiate = false;
  }
  return row;
}

// ---- broadcast_to, sum_to ----

// For each element of `large`, in order, the element of `small` that broadcasts to it.
std::vector<size_t> BroadcastMap(const Shape& small, const Shape& large) {
  std::vector<size_t> map(CountOf(large));
  for (size_t n = 0; n < map.size(); ++n) {
    size_t rest = n, stride = 1;
    for (size_t k = 0; k < large.size(); ++k) {
      const size_t coordinate = rest % large[large.size() - 1 - k];
      rest /= large[large.size() - 1 - k];
      if (k >= small.size()) continue;
      const size_t extent = small[small.size() - 1 - k];
      map[n] += extent == 1 ? 0 : coordinate * stride;
      stride *= extent;
    }
  }
  return map;
}

std::vector<Tensor> BroadcastTo(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  Tensor y(DType::F32, ToShape(attributes.list("shape")));
  const std::vector<size_t> map = BroadcastMap(inputs[0].shape, y.shape);
  for (size_t n = 0; n < y.size(); ++n) y[n] = inputs[0][map[n]];
  return {y};
}

std::vector<Tensor> SumTo(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  Tensor y(DType::F32, ToShape(attributes.list("shape")));
  const std::vector<size_t> map = BroadcastMap(y.shape, inputs[0].shape);
  for (size_t n = 0; n < map.size(); ++n) y[map[n]] += inputs[0][n];
  return {y};
}

struct ShapePair {
  std::vector<int64_t> small, large;
};
const ShapePair kBroadcasts[] = {
    {{1}, {3, 5}},          {{5}, {3, 5}},          {{3, 1}, {3, 5}},
    {{3, 5}, {3, 5}},       {{1, 5, 1}, {3, 5, 7}}, {{5, 1, 7}, {3, 5, 11, 7}},
    {{1, 1, 1}, {2, 3, 4}}, {{257}, {3, 257}},      {{1, 300}, {259, 300}},
    {{2, 1, 3, 1, 2, 1}, {2, 5, 3, 7, 2, 3}},       {{4, 1, 1, 8}, {4, 9, 33, 8}},
};

ReferenceOp BroadcastToOp() {
  ReferenceOp row = {"broadcast_to", BroadcastTo};
  for (const ShapePair& pair : kBroadcasts) {
    row.samples.push_back({{Uniform(ToShape(pair.small))}, ShapeOf(pair.large), kExact});
  }
  row.samples.push_back({{Uniform({1, 3})}, ShapeOf({0, 3}), kExact, false});
  row.rejections = {
      {"an extent that is neither 1 nor equal", {Uniform({2, 3})}, ShapeOf({4, 3})},
      {"fewer axes", {Uniform({1, 3})}, ShapeOf({3})},
      {"a negative extent", {Uniform({1})}, ShapeOf({-1})},
      {"no axes", {Uniform({1})}, ShapeOf({})},
      {"nine axes", {Uniform({1})}, ShapeOf({1, 1, 1, 1, 1, 1, 1, 1, 1})},
      {"too many elements", {Uniform({1})}, ShapeOf({65536, 65536})},
      {"an I32 operand", {Integers(DType::I32, {1}, 0, 5)}, ShapeOf({3})},
  };
  return row;
}

ReferenceOp SumToOp() {
  ReferenceOp row = {"sum_to", SumTo};
  for (const ShapePair& pair : kBroadcasts) {
    const Shape small = ToShape(pair.small), large = ToShape(pair.large);
    const size_t terms = CountOf(large) / CountOf(small);
    row.samples.push_back({{Uniform(large)},
                           ShapeOf(pair.small),
                           ReductionTolerance(static_cast<double>(terms), 2)});
  }
  row.samples.push_back({{Uniform({0, 3, 2})}, ShapeOf({1, 3, 1}), kExact, false});
  row.rejections = {
      {"an extent that is neither 1 nor equal", {Uniform({4, 3})}, ShapeOf({2, 3})},
      {"more axes", {Uniform({3})}, ShapeOf({1, 3})},
      {"a negative extent", {Uniform({3})}, ShapeOf({-1})},
      {"no axes", {Uniform({3})}, ShapeOf({})},
      {"an I32 operand", {Integers(DType::I32, {3}, 0, 5)}, ShapeOf({1})},
  };
  return row;
}

// ---- max ----

std::vector<Tensor> Max(absl::Span<const Tensor> inputs, const Attributes&) {
  Tensor y(DType::F32, {1});
  y[0] = -kInf;
  for (double x : inputs[0].data) {
    if (std::isnan(x) || x > y[0]) y[0] = x;
    if (std::isnan(y[0])) break;
  }
  return {y};
}

ReferenceOp MaxOp() {
  ReferenceOp row = {"max", Max};
  row.samples = {{{Uniform({1})}, {}, kExact},
                 {{Uniform({3, 5, 7})}, {}, kExact},
                 {{Uniform({3, 5, 7}, -9, -3)}, {}, kExact},
                 {{Uniform({2, 259})}, {}, kExact},
                 {{Uniform({70001}, -5, -1)}, {}, kExact},
                 {{Values(DType::F32, {2, 2}, {1, 3, 3, 2})}, {}, kExact, false},
                 {{Values(DType::F32, {3}, {-kInf, -kInf, -kInf})}, {}, kExact, false},
                 {{Values(DType::F32, {4}, {1, kNan, kInf, 2})}, {}, kExact, false}};
  row.rejections = {{"no elements", {Uniform({0})}},
                    {"an I32 operand", {Integers(DType::I32, {3}, 0, 5)}},
                    {"an attribute", {Uniform({3})}, Axis(0)}};
  return row;
}

}  // namespace

std::vector<ReferenceOp> SoftmaxReference();  // softmax.cc
std::vector<ReferenceOp> ArgmaxReference();   // argmax.cc

std::vector<ReferenceOp> ReduceReference() {
  std::vector<ReferenceOp> rows = {SumOp<false>(), SumOp<true>(), BroadcastToOp(), SumToOp(),
                                   MaxOp()};
  for (ReferenceOp& row : SoftmaxReference()) rows.push_back(std::move(row));
  for (ReferenceOp& row : ArgmaxReference()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace oa::reference
