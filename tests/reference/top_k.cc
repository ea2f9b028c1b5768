#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

bool Names(double index, size_t column) { return index == static_cast<double>(column); }

std::vector<Tensor> GatherLast(absl::Span<const Tensor> inputs, const Attributes&) {
  const Tensor& x = inputs[0];
  const Tensor& indices = inputs[1];
  const size_t columns = x.shape[1], picks = indices.shape[1];
  Tensor y(DType::F32, indices.shape);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= static_cast<double>(columns)) continue;
    y[i] = x[i / picks * columns + static_cast<size_t>(indices[i])];
  }
  return {y};
}

Sample GatherLastSample(uint64_t rows, uint64_t columns, uint64_t picks) {
  const int64_t high = static_cast<int64_t>(columns);
  Sample sample = {
      {Uniform({rows, columns}), Integers(DType::I32, {rows, picks}, -1, high)}, {}, kExact};
  sample.gradient = {1e-4, 2e-4};
  return sample;
}

ReferenceOp GatherLastOp() {
  ReferenceOp row = {"gather_last_dim", GatherLast};
  row.samples = {GatherLastSample(1, 1, 1), GatherLastSample(5, 8, 2), GatherLastSample(33, 7, 19),
                 GatherLastSample(3, 600, 300)};
  row.rejections = {
      {"x of rank 1", {Uniform({5}), Integers(DType::I32, {5, 1}, 0, 3)}},
      {"indices of rank 1", {Uniform({5, 3}), Integers(DType::I32, {5}, 0, 3)}},
      {"unequal rows", {Uniform({5, 3}), Integers(DType::I32, {4, 2}, 0, 3)}},
      {"U32 indices", {Uniform({5, 3}), Integers(DType::U32, {5, 2}, 0, 3)}},
      {"no elements", {Uniform({5, 0}), Integers(DType::I32, {5, 2}, 0, 3)}},
  };
  return row;
}

std::vector<Tensor> TopK(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const size_t columns = x.shape.back(), k = static_cast<size_t>(attributes.i64("k"));
  Shape shape = x.shape;
  shape.back() = k;
  Tensor values(DType::F32, shape), indices(DType::I32, shape);
  for (size_t r = 0; r < x.size() / columns; ++r) {
    std::vector<size_t> order(columns);
    std::iota(order.begin(), order.end(), size_t{0});
    const double* row = x.data.data() + r * columns;
    std::stable_sort(order.begin(), order.end(), [row](size_t a, size_t b) {
      if (std::isnan(row[a]) || std::isnan(row[b]))
        return std::isnan(row[a]) && !std::isnan(row[b]);
      return row[a] > row[b];
    });
    for (size_t i = 0; i < k; ++i) {
      values[r * k + i] = row[order[i]];
      indices[r * k + i] = static_cast<double>(order[i]);
    }
  }
  return {values, indices};
}

ReferenceOp TopKOp() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto k = [](int64_t n) { return Attributes().I64("k", n); };
  ReferenceOp row = {"top_k", TopK};
  row.samples = {
      {{Uniform({1})}, k(1), kExact},
      {{Uniform({5, 8})}, k(2), kExact},
      {{Uniform({2, 3, 300})}, k(17), kExact},
      {{Uniform({2, 1500})}, k(1024), kExact},
      {{Uniform({1, 9000})}, k(700), kExact},  // several dispatches on CPU devices
      {{Values(DType::F32, {2, 5}, {1, 2, 2, 1, 2, -1, -1, -1, -3, -1})}, k(5), kExact},
      {{Values(DType::F32, {1, 6}, {-kInf, kNan, 0, kInf, kNan, -kInf})}, k(6), kExact},
  };
  row.rejections = {
      {"k of 0", {Uniform({5, 8})}, k(0)},
      {"k past the extent", {Uniform({5, 8})}, k(9)},
      {"k past 1024", {Uniform({2, 2000})}, k(1025)},
      {"an I32 operand", {Integers(DType::I32, {5, 8}, 0, 3)}, k(1)},
      {"no elements", {Uniform({0, 8})}, k(1)},
  };
  return row;
}

std::vector<Tensor> TopKMask(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& indices = inputs[0];
  const size_t width = static_cast<size_t>(attributes.i64("width")), picks = indices.shape[1];
  Tensor mask(DType::F32, {indices.shape[0], width});
  for (size_t i = 0; i < mask.size(); ++i) {
    for (size_t k = 0; k < picks; ++k) {
      if (Names(indices[i / width * picks + k], i % width)) mask[i] = 1;
    }
  }
  return {mask};
}

ReferenceOp TopKMaskOp() {
  const auto width = [](int64_t n) { return Attributes().I64("width", n); };
  ReferenceOp row = {"top_k_mask", TopKMask};
  row.samples = {
      {{Integers(DType::I32, {1, 1}, 0, 0)}, width(1), kExact},
      {{Integers(DType::I32, {5, 3}, -2, 9)}, width(8), kExact},
      {{Integers(DType::I32, {7, 40}, 0, 299)}, width(300), kExact},
  };
  row.rejections = {
      {"rank 1", {Integers(DType::I32, {5}, 0, 3)}, width(4)},
      {"no width", {Integers(DType::I32, {5, 2}, 0, 3)}, width(0)},
      {"U32 indices", {Integers(DType::U32, {5, 2}, 0, 3)}, width(4)},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> TopKReference() { return {GatherLastOp(), TopKOp(), TopKMaskOp()}; }

}  // namespace oa::reference
