#include "tests/reference/axis_loops.h"
#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

std::vector<Tensor> Repeat(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const int64_t axis = attributes.i64("axis");
  const size_t repeats = static_cast<size_t>(attributes.i64("repeats"));
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] *= repeats;
  Tensor y(x.dtype, shape);
  const AxisView from(x.shape, axis), to(shape, axis);
  for (size_t o = 0; o < to.outer; ++o) {
    for (size_t e = 0; e < to.extent; ++e) {
      for (size_t i = 0; i < to.inner; ++i) y[to.at(o, e, i)] = x[from.at(o, e / repeats, i)];
    }
  }
  return {y};
}

Attributes Repeats(int64_t repeats, int64_t axis) {
  return Attributes().I64("repeats", repeats).I64("axis", axis);
}

ReferenceOp RepeatOp() {
  ReferenceOp row = {"repeat_interleave", Repeat};
  row.samples = {
      {{Uniform({1})}, Repeats(1, 0), kExact},
      {{Uniform({3, 5, 2})}, Repeats(3, 0), kExact},
      {{Uniform({3, 5, 2})}, Repeats(4, 1), kExact},
      {{Uniform({3, 5, 2})}, Repeats(2, 2), kExact},
      {{Uniform({9, 70})}, Repeats(7, 1), kExact},
      {{Integers(DType::I32, {4, 3}, -5, 5)}, Repeats(2, 0), kExact},
  };
  row.samples.back().differentiate = false;
  row.rejections = {
      {"no repeats", {Uniform({3, 5})}, Repeats(0, 0)},
      {"an axis past the rank", {Uniform({3, 5})}, Repeats(2, 2)},
      {"too many elements", {Uniform({3, 5})}, Repeats(4294967295, 0)},
      {"no elements", {Uniform({3, 0})}, Repeats(2, 0)},
      {"a BF16 operand", {Values(DType::BF16, {1}, {1})}, Repeats(2, 0)},
  };
  return row;
}

std::vector<Tensor> CausalMask(absl::Span<const Tensor> inputs, const Attributes&) {
  Tensor y = inputs[0];
  const size_t keys = y.shape.back(), queries = y.shape[y.shape.size() - 2];
  for (size_t i = 0; i < y.size(); ++i) {
    if (i % keys > i / keys % queries) y[i] = -1e9;
  }
  return {y};
}

ReferenceOp CausalMaskOp() {
  ReferenceOp row = {"causal_mask", CausalMask};
  // Large values, because their differences would drown in sums over entries of -1e9.
  row.samples = {
      {{Uniform({1, 1}, 1e6, 2e6)}, {}, kExact},
      {{Uniform({5, 5}, 1e6, 2e6)}, {}, kExact},
      {{Uniform({2, 3, 4, 9}, 1e6, 2e6)}, {}, kExact},
      {{Uniform({3, 20, 6}, 1e6, 2e6)}, {}, kExact},
  };
  row.rejections = {
      {"rank 1", {Uniform({5})}},
      {"no elements", {Uniform({5, 0})}},
      {"an I32 operand", {Integers(DType::I32, {5, 5}, 0, 1)}},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> RepeatReference() { return {RepeatOp(), CausalMaskOp()}; }

}  // namespace oa::reference
