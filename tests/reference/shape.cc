#include <algorithm>
#include <utility>

#include "tests/reference/axis_loops.h"
#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

Attributes List(std::vector<int64_t> shape) { return Attributes().List("shape", std::move(shape)); }
Attributes Axes(int64_t axis0, int64_t axis1) {
  return Attributes().I64("axis0", axis0).I64("axis1", axis1);
}
Attributes Range(int64_t axis, int64_t start, int64_t end) {
  return Attributes().I64("axis", axis).I64("start", start).I64("end", end);
}
Attributes Axis(int64_t axis) { return Attributes().I64("axis", axis); }

// ---- reshape ----

std::vector<Tensor> Reshape(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const std::vector<int64_t>& list = attributes.list("shape");
  int64_t known = 1;
  for (int64_t extent : list) known *= extent == -1 ? 1 : extent;
  Shape shape;
  for (int64_t extent : list) {
    shape.push_back(extent == -1 ? inputs[0].size() / static_cast<size_t>(known)
                                 : static_cast<uint64_t>(extent));
  }
  Tensor y(inputs[0].dtype, shape);
  y.data = inputs[0].data;
  return {y};
}

ReferenceOp ReshapeOp() {
  ReferenceOp row = {"reshape", Reshape};
  row.samples = {{{Uniform({3, 5, 7})}, List({105}), kExact},
                 {{Uniform({3, 5, 7})}, List({7, -1, 3}), kExact},
                 {{Uniform({2, 300})}, List({300, 1, 2}), kExact},
                 {{Uniform({6})}, List({6}), kExact},
                 {{Integers(DType::U8, {3, 7}, 0, 255)}, List({21}), kExact},
                 {{Integers(DType::I32, {4, 2}, -9, 9)}, List({-1}), kExact},
                 {{Integers(DType::U32, {4, 2}, 0, 9)}, List({2, 2, 2}), kExact},
                 {{Values(DType::BF16, {2}, {1, -2})}, List({1, 2}), kExact}};
  row.rejections = {{"another number of elements", {Uniform({2, 3})}, List({5})},
                    {"two inferred extents", {Uniform({2, 3})}, List({-1, -1})},
                    {"an inferred extent without a value", {Uniform({2, 3})}, List({4, -1})},
                    {"an inferred extent beside 0", {Uniform({0})}, List({0, -1})},
                    {"an extent below -1", {Uniform({2, 3})}, List({-2, 3})},
                    {"no axes", {Uniform({1})}, List({})},
                    {"nine axes", {Uniform({1})}, List({1, 1, 1, 1, 1, 1, 1, 1, 1})}};
  return row;
}

// ---- transpose ----

std::vector<Tensor> Transpose(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const size_t a = static_cast<size_t>(attributes.i64("axis0"));
  const size_t b = static_cast<size_t>(attributes.i64("axis1"));
  Shape shape = x.shape;
  std::swap(shape[a], shape[b]);
  Tensor y(x.dtype, shape);
  std::vector<size_t> at(shape.size());  // coordinates in y
  for (size_t n = 0; n < y.size(); ++n) {
    size_t rest = n;
    for (size_t k = shape.size(); k-- > 0;) {
      at[k] = rest % shape[k];
      rest /= shape[k];
    }
    std::swap(at[a], at[b]);
    size_t from = 0;
    for (size_t k = 0; k < shape.size(); ++k) from = from * x.shape[k] + at[k];
    y[n] = x[from];
  }
  return {y};
}

ReferenceOp TransposeOp() {
  ReferenceOp row = {"transpose", Transpose};
  row.samples = {{{Uniform({3, 5})}, Axes(0, 1), kExact},
                 {{Uniform({3, 5, 7})}, Axes(0, 2), kExact},
                 {{Uniform({3, 5, 7})}, Axes(2, 1), kExact},
                 {{Uniform({3, 5, 7})}, Axes(1, 0), kExact},
                 {{Uniform({3, 5, 7})}, Axes(1, 1), kExact},
                 {{Uniform({33, 65})}, Axes(0, 1), kExact},
                 {{Uniform({2, 40, 3, 37})}, Axes(1, 3), kExact},
                 {{Uniform({2, 3, 5, 8})}, Axes(1, 2), kExact},
                 {{Uniform({1, 300, 1})}, Axes(0, 1), kExact},
                 {{Uniform({2, 3, 1, 2, 3, 1, 2, 2})}, Axes(1, 6), kExact},
                 {{Integers(DType::I32, {9, 31}, -99, 99)}, Axes(0, 1), kExact},
                 {{Integers(DType::U32, {4, 5, 4}, 0, 4294967295)}, Axes(0, 1), kExact},
                 {{Uniform({0, 3})}, Axes(0, 1), kExact, false}};
  row.rejections = {{"axis0 past the rank", {Uniform({2, 3})}, Axes(2, 0)},
                    {"axis1 past the rank", {Uniform({2, 3})}, Axes(0, 2)},
                    {"a negative axis", {Uniform({2, 3})}, Axes(-1, 0)},
                    {"a U8 operand", {Integers(DType::U8, {2, 3}, 0, 5)}, Axes(0, 1)},
                    {"a BF16 operand", {Values(DType::BF16, {1, 1}, {1})}, Axes(0, 1)}};
  return row;
}

// ---- slice ----

std::vector<Tensor> Slice(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const int64_t axis = attributes.i64("axis");
  const size_t start = static_cast<size_t>(attributes.i64("start"));
  Shape shape = x.shape;
  shape[axis] = static_cast<size_t>(attributes.i64("end")) - start;
  Tensor y(x.dtype, shape);
  const AxisView from(x.shape, axis), to(shape, axis);
  for (size_t o = 0; o < to.outer; ++o) {
    for (size_t e = 0; e < to.extent; ++e) {
      for (size_t i = 0; i < to.inner; ++i) y[to.at(o, e, i)] = x[from.at(o, start + e, i)];
    }
  }
  return {y};
}

ReferenceOp SliceOp() {
  ReferenceOp row = {"slice", Slice};
  row.samples = {{{Uniform({7})}, Range(0, 2, 5), kExact},
                 {{Uniform({3, 5, 7})}, Range(0, 1, 3), kExact},
                 {{Uniform({3, 5, 7})}, Range(1, 0, 4), kExact},
                 {{Uniform({3, 5, 7})}, Range(2, 6, 7), kExact},
                 {{Uniform({3, 5, 7})}, Range(1, 0, 5), kExact},
                 {{Uniform({40, 12})}, Range(1, 4, 8), kExact},
                 {{Uniform({2, 300, 3})}, Range(1, 17, 290), kExact},
                 {{Integers(DType::I32, {9, 31}, -99, 99)}, Range(1, 3, 30), kExact},
                 {{Integers(DType::U32, {9, 31}, 0, 4294967295)}, Range(0, 8, 9), kExact},
                 {{Uniform({0, 3})}, Range(1, 1, 2), kExact, false}};
  row.rejections = {{"an axis past the rank", {Uniform({2, 3})}, Range(2, 0, 1)},
                    {"a negative axis", {Uniform({2, 3})}, Range(-1, 0, 1)},
                    {"a negative start", {Uniform({2, 3})}, Range(1, -1, 2)},
                    {"an empty range", {Uniform({2, 3})}, Range(1, 1, 1)},
                    {"a reversed range", {Uniform({2, 3})}, Range(1, 2, 1)},
                    {"an end past the extent", {Uniform({2, 3})}, Range(1, 0, 4)},
                    {"a U8 operand", {Integers(DType::U8, {2, 3}, 0, 5)}, Range(1, 0, 1)}};
  return row;
}

// ---- concat ----

std::vector<Tensor> Concat(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const int64_t axis = attributes.i64("axis");
  Shape shape = inputs[0].shape;
  shape[axis] = 0;
  for (const Tensor& x : inputs) shape[axis] += x.shape[axis];
  Tensor y(inputs[0].dtype, shape);
  const AxisView to(shape, axis);
  size_t start = 0;
  for (const Tensor& x : inputs) {
    const AxisView from(x.shape, axis);
    for (size_t o = 0; o < from.outer; ++o) {
      for (size_t e = 0; e < from.extent; ++e) {
        for (size_t i = 0; i < from.inner; ++i) y[to.at(o, start + e, i)] = x[from.at(o, e, i)];
      }
    }
    start += from.extent;
  }
  return {y};
}

ReferenceOp ConcatOp() {
  ReferenceOp row = {"concat", Concat};
  std::vector<InputSpec> many;
  for (uint64_t i = 1; i <= 20; ++i) many.push_back(Uniform({3, i}));
  row.samples = {{{Uniform({3, 5})}, Axis(0), kExact},
                 {{Uniform({3, 5}), Uniform({1, 5})}, Axis(0), kExact},
                 {{Uniform({3, 5}), Uniform({3, 2}), Uniform({3, 1})}, Axis(1), kExact},
                 {{Uniform({2, 3, 7}), Uniform({2, 5, 7})}, Axis(1), kExact},
                 {{Uniform({2, 4, 8}), Uniform({2, 12, 8})}, Axis(1), kExact},
                 {{Uniform({300}), Uniform({1}), Uniform({513})}, Axis(0), kExact},
                 {many, Axis(1), kExact},
                 {{Uniform({2, 0}), Uniform({2, 3})}, Axis(1), kExact, false},
                 {{Integers(DType::I32, {2, 3}, -9, 9), Integers(DType::I32, {2, 1}, -9, 9)},
                  Axis(1),
                  kExact},
                 {{Integers(DType::U32, {2, 3}, 0, 9), Integers(DType::U32, {2, 3}, 0, 9)},
                  Axis(0),
                  kExact}};
  row.rejections = {
      {"no operand", {}, Axis(0)},
      {"an absent operand", {Uniform({3}), Absent()}, Axis(0)},
      {"an axis past the rank", {Uniform({2, 3})}, Axis(2)},
      {"a negative axis", {Uniform({2, 3})}, Axis(-1)},
      {"unequal ranks", {Uniform({2, 3}), Uniform({6})}, Axis(0)},
      {"unequal other extents", {Uniform({2, 3}), Uniform({2, 4})}, Axis(0)},
      {"unequal types", {Uniform({2, 3}), Integers(DType::I32, {2, 3}, 0, 5)}, Axis(0)},
      {"a U8 operand", {Integers(DType::U8, {2, 3}, 0, 5)}, Axis(0)},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> ShapeReference() {
  return {ReshapeOp(), TransposeOp(), SliceOp(), ConcatOp()};
}

}  // namespace oa::reference
