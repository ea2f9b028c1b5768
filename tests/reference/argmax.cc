#include <cmath>
#include <limits>

#include "tests/reference/axis_loops.h"
#include "tests/reference/reference.h"

namespace oa::reference {

std::vector<ReferenceOp> ArgmaxReference();  // used by reduce.cc

namespace {

using ir::Attributes;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// First column of row `r` with the maximum; a NaN counts as the largest.
size_t FirstMaximum(const Tensor& x, size_t r, size_t columns) {
  size_t best = 0;
  for (size_t c = 1; c < columns; ++c) {
    const double value = x[r * columns + c], largest = x[r * columns + best];
    if (std::isnan(largest)) break;
    if (std::isnan(value) || value > largest) best = c;
  }
  return best;
}

std::vector<Tensor> Argmax(absl::Span<const Tensor> inputs, const Attributes&) {
  const Tensor& x = inputs[0];
  const size_t columns = x.shape.back();
  Shape shape(x.shape.begin(), x.shape.end() - 1);
  if (shape.empty()) shape = {1};
  Tensor y(DType::I32, shape);
  for (size_t r = 0; r < y.size(); ++r) {
    y[r] = static_cast<double>(FirstMaximum(x, r, columns));
  }
  return {y};
}

ReferenceOp ArgmaxOp() {
  ReferenceOp row = {"argmax", Argmax};
  row.samples = {
      {{Uniform({1})}, {}, kExact},
      {{Uniform({7})}, {}, kExact},
      {{Uniform({3, 5, 7})}, {}, kExact},
      {{Uniform({301, 10})}, {}, kExact},
      {{Uniform({2, 3, 259})}, {}, kExact},
      {{Uniform({3, 5000})}, {}, kExact},
      {{Uniform({5, 1})}, {}, kExact},
      // Few distinct values: many ties.
      {{Values(DType::F32, {2, 4}, {1, 3, 3, 2, 0, -0.0, 0, -1})}, {}, kExact},
      {{Values(DType::F32, {3, 3}, {-kInf, -kInf, -kInf, 1, kNan, kInf, -0.0, 0, 0})}, {}, kExact},
  };
  std::vector<double> ties(3000);
  for (size_t i = 0; i < ties.size(); ++i) ties[i] = static_cast<double>((i * 7 + 3) % 11);
  row.samples.push_back({{Values(DType::F32, {2, 1500}, ties)}, {}, kExact});
  row.rejections = {{"no elements", {Uniform({3, 0})}},
                    {"no rows", {Uniform({0, 3})}},
                    {"an I32 operand", {Integers(DType::I32, {3}, 0, 5)}},
                    {"an attribute", {Uniform({3})}, Attributes().I64("axis", 0)}};
  return row;
}

std::vector<Tensor> Accuracy(absl::Span<const Tensor> inputs, const Attributes&) {
  const Tensor& x = inputs[0];
  const size_t columns = x.shape.back();
  Tensor count(DType::U32, {1});
  for (size_t r = 0; r < inputs[1].size(); ++r) {
    if (static_cast<double>(FirstMaximum(x, r, columns)) == inputs[1][r]) count[0] += 1;
  }
  return {count};
}

ReferenceOp AccuracyOp() {
  ReferenceOp row = {"categorical_accuracy_count", Accuracy};
  row.samples = {
      {{Uniform({1}), Integers(DType::U8, {1}, 0, 0)}, {}, kExact},
      {{Uniform({301, 3}), Integers(DType::U8, {301}, 0, 2)}, {}, kExact},
      {{Uniform({301, 3}), Integers(DType::U32, {301}, 0, 2)}, {}, kExact},
      {{Uniform({301, 3}), Integers(DType::I32, {301}, -1, 3)}, {}, kExact},
      {{Uniform({7, 43, 5}), Integers(DType::I32, {7, 43}, 0, 4)}, {}, kExact},
      {{Uniform({20, 300}), Integers(DType::U32, {20}, 0, 1)}, {}, kExact},
      {{Uniform({20000, 2}), Integers(DType::U8, {20000}, 0, 1)}, {}, kExact},
  };
  row.rejections = {
      {"a missing label", {Uniform({3, 5}), Integers(DType::I32, {2}, 0, 4)}},
      {"F32 labels", {Uniform({3, 5}), Uniform({3})}},
      {"I32 logits", {Integers(DType::I32, {3, 5}, 0, 4), Integers(DType::I32, {3}, 0, 4)}},
      {"no columns", {Uniform({3, 0}), Integers(DType::I32, {3}, 0, 4)}},
      {"no labels", {Uniform({3, 5}), Absent()}},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> ArgmaxReference() { return {ArgmaxOp(), AccuracyOp()}; }

}  // namespace oa::reference
