#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

Attributes Windows(int64_t kernel_size, int64_t stride, int64_t padding) {
  return Attributes()
      .I64("kernel_size", kernel_size)
      .I64("stride", stride)
      .I64("padding", padding);
}
Attributes Bins(int64_t height, int64_t width) {
  return Attributes().I64("output_height", height).I64("output_width", width);
}
Attributes Scale(int64_t factor, const char* mode) {
  return Attributes().I64("scale_factor", factor).Token("mode", mode);
}

// Calls visit(output offset, plane, output row, output column) for all of y.
template <class Visit>
void ForEachCell(const Tensor& y, Visit visit) {
  size_t t = 0;
  for (size_t p = 0; p < y.shape[0] * y.shape[1]; ++p) {
    for (size_t i = 0; i < y.shape[2]; ++i) {
      for (size_t j = 0; j < y.shape[3]; ++j) visit(t++, p, i, j);
    }
  }
}

size_t At(const Tensor& x, size_t plane, size_t row, size_t column) {
  return (plane * x.shape[2] + row) * x.shape[3] + column;
}

// ---- avg_pool_2d, max_pool_2d ----

struct Window {
  int64_t size, stride, padding;

  explicit Window(const Attributes& attributes)
      : size(attributes.i64("kernel_size")),
        stride(attributes.i64("stride")),
        padding(attributes.i64("padding")) {}

  Shape Output(const Shape& x) const {
    return {x[0], x[1], Positions(x[2]), Positions(x[3])};
  }
  uint64_t Positions(uint64_t extent) const {
    return static_cast<uint64_t>((static_cast<int64_t>(extent) + 2 * padding - size) / stride + 1);
  }
  // The part inside the axis; empty when last <= first.
  size_t First(size_t i) const {
    return static_cast<size_t>(std::max<int64_t>(static_cast<int64_t>(i) * stride - padding, 0));
  }
  size_t Last(size_t i, uint64_t extent) const {
    const int64_t end = static_cast<int64_t>(i) * stride - padding + size;
    return static_cast<size_t>(std::clamp<int64_t>(end, 0, static_cast<int64_t>(extent)));
  }
};

std::vector<Tensor> AvgPool(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const Window window(attributes);
  Tensor y(DType::F32, window.Output(x.shape));
  ForEachCell(y, [&](size_t t, size_t p, size_t i, size_t j) {
    double sum = 0, count = 0;
    for (size_t h = window.First(i); h < window.Last(i, x.shape[2]); ++h) {
      for (size_t w = window.First(j); w < window.Last(j, x.shape[3]); ++w) {
        sum += x[At(x, p, h, w)];
        ++count;
      }
    }
    y[t] = count > 0 ? sum / count : 0;
  });
  return {y};
}

std::vector<Tensor> MaxPool(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const Window window(attributes);
  Tensor y(DType::F32, window.Output(x.shape)), indices(DType::U32, y.shape);
  ForEachCell(y, [&](size_t t, size_t p, size_t i, size_t j) {
    bool found = false;
    y[t] = std::numeric_limits<float>::lowest();
    indices[t] = 4294967295.0;
    for (size_t h = window.First(i); h < window.Last(i, x.shape[2]); ++h) {
      for (size_t w = window.First(j); w < window.Last(j, x.shape[3]); ++w) {
        const size_t at = At(x, p, h, w);
        if (found && !(x[at] > y[t])) continue;
        found = true;
        y[t] = x[at];
        indices[t] = static_cast<double>(at);
      }
    }
  });
  return {y, indices};
}

// Samples and rejections are the same for both.
ReferenceOp WindowOp(const char* op, Forward forward, bool exact) {
  ReferenceOp row = {op, forward};
  const auto sample = [&](Shape shape, Attributes attributes) {
    const double size = static_cast<double>(attributes.i64("kernel_size"));
    const bool may_be_empty = attributes.i64("padding") >= attributes.i64("kernel_size");
    row.samples.push_back({{Uniform(std::move(shape))},
                           std::move(attributes),
                           exact ? kExact : ReductionTolerance(size * size)});
    // Differences of a sum drown in the lowest finite value that stands for an empty maximum.
    row.samples.back().differentiate = !exact || !may_be_empty;
  };
  sample({1, 1, 1, 1}, Windows(1, 1, 0));
  sample({2, 3, 7, 5}, Windows(2, 2, 0));
  sample({2, 3, 7, 5}, Windows(3, 2, 1));
  sample({1, 2, 7, 9}, Windows(3, 1, 1));
  sample({1, 1, 11, 13}, Windows(2, 3, 0));  // cells that no window holds
  sample({1, 2, 5, 7}, Windows(3, 3, 2));
  sample({1, 2, 3, 2}, Windows(2, 1, 3));  // windows without a cell
  sample({3, 5, 17, 19}, Windows(3, 2, 1));
  sample({1, 1, 5, 37}, Windows(5, 5, 0));
  row.rejections = {
      {"rank 3", {Uniform({3, 4, 5})}, Windows(2, 2, 0)},
      {"no rows", {Uniform({1, 1, 0, 5})}, Windows(2, 2, 1)},
      {"a zero kernel", {Uniform({1, 1, 4, 4})}, Windows(0, 1, 0)},
      {"a zero stride", {Uniform({1, 1, 4, 4})}, Windows(2, 0, 0)},
      {"a negative padding", {Uniform({1, 1, 4, 4})}, Windows(2, 1, -1)},
      {"a kernel larger than the padded height", {Uniform({1, 1, 2, 9})}, Windows(5, 1, 1)},
      {"a kernel larger than the padded width", {Uniform({1, 1, 9, 2})}, Windows(5, 1, 1)},
      {"a stride above 32 bits", {Uniform({1, 1, 4, 4})}, Windows(2, int64_t{1} << 32, 0)},
      {"a padded extent above 32 bits", {Uniform({1, 1, 4, 4})}, Windows(2, 1, 0x7fffffff)},
      {"an I32 operand", {Integers(DType::I32, {1, 1, 4, 4}, 0, 5)}, Windows(2, 2, 0)},
  };
  return row;
}

ReferenceOp MaxPoolOp() {
  ReferenceOp row = WindowOp("max_pool_2d", MaxPool, true);
  const double inf = std::numeric_limits<double>::infinity();
  // Ties, windows of -inf, and a NaN in first place and elsewhere.
  row.samples.push_back({{Values(DType::F32, {1, 1, 2, 4}, {1, 1, 0, -0.0, 1, 1, -0.0, 0})},
                         Windows(2, 2, 0), kExact, false});
  row.samples.push_back(
      {{Values(DType::F32, {1, 1, 2, 2}, {-inf, -inf, -inf, -inf})}, Windows(2, 1, 1), kExact,
       false});
  row.samples.push_back({{Values(DType::F32, {1, 1, 1, 4}, {std::nan(""), 1, 2, std::nan("")})},
                         Windows(1, 1, 0), kExact, false});
  return row;
}

// ---- adaptive_avg_pool_2d ----

std::vector<Tensor> Adaptive(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const size_t height = static_cast<size_t>(attributes.i64("output_height"));
  const size_t width = static_cast<size_t>(attributes.i64("output_width"));
  Tensor y(DType::F32, {x.shape[0], x.shape[1], height, width});
  const auto first = [](size_t i, size_t extent, size_t bins) { return i * extent / bins; };
  const auto last = [](size_t i, size_t extent, size_t bins) {
    return ((i + 1) * extent + bins - 1) / bins;
  };
  ForEachCell(y, [&](size_t t, size_t p, size_t i, size_t j) {
    double sum = 0, count = 0;
    for (size_t h = first(i, x.shape[2], height); h < last(i, x.shape[2], height); ++h) {
      for (size_t w = first(j, x.shape[3], width); w < last(j, x.shape[3], width); ++w) {
        sum += x[At(x, p, h, w)];
        ++count;
      }
    }
    y[t] = sum / count;
  });
  return {y};
}

ReferenceOp AdaptiveOp() {
  ReferenceOp row = {"adaptive_avg_pool_2d", Adaptive};
  row.samples = {{{Uniform({1, 1, 1, 1})}, Bins(1, 1), ReductionTolerance(1)},
                 {{Uniform({2, 3, 7, 5})}, Bins(1, 1), ReductionTolerance(35)},
                 {{Uniform({2, 3, 7, 5})}, Bins(3, 2), ReductionTolerance(9)},
                 {{Uniform({1, 2, 8, 6})}, Bins(4, 3), ReductionTolerance(4)},
                 {{Uniform({1, 2, 3, 2})}, Bins(7, 5), ReductionTolerance(4)},  // O > E
                 {{Uniform({3, 5, 13, 17})}, Bins(5, 6), ReductionTolerance(16)}};
  row.rejections = {
      {"rank 3", {Uniform({3, 4, 5})}, Bins(2, 2)},
      {"no columns", {Uniform({1, 1, 5, 0})}, Bins(2, 2)},
      {"zero rows", {Uniform({1, 1, 4, 4})}, Bins(0, 2)},
      {"zero columns", {Uniform({1, 1, 4, 4})}, Bins(2, 0)},
      {"a negative extent", {Uniform({1, 1, 4, 4})}, Bins(2, -1)},
      {"bins times extent above 32 bits", {Uniform({1, 1, 4, 1})}, Bins(1 << 30, 1)},
      {"an I32 operand", {Integers(DType::I32, {1, 1, 4, 4}, 0, 5)}, Bins(2, 2)},
  };
  return row;
}

// ---- upsample_2d ----

// Position along one axis that output `o` reads.
struct Source {
  size_t low, high;
  double fraction;
};

Source SourceOf(size_t o, size_t extent, size_t scale, bool bilinear) {
  if (!bilinear) return {o / scale, o / scale, 0};
  const double last = static_cast<double>(extent - 1);
  const double u = std::clamp(
      (static_cast<double>(o) + 0.5) / static_cast<double>(scale) - 0.5, 0.0, last);
  const size_t low = static_cast<size_t>(std::floor(u));
  return {low, std::min(low + 1, extent - 1), u - std::floor(u)};
}

std::vector<Tensor> Upsample(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const size_t scale = static_cast<size_t>(attributes.i64("scale_factor"));
  const bool bilinear = attributes.token("mode") == "bilinear";
  Tensor y(DType::F32, {x.shape[0], x.shape[1], x.shape[2] * scale, x.shape[3] * scale});
  ForEachCell(y, [&](size_t t, size_t p, size_t i, size_t j) {
    const Source row = SourceOf(i, x.shape[2], scale, bilinear);
    const Source column = SourceOf(j, x.shape[3], scale, bilinear);
    const double f = row.fraction, e = column.fraction;
    y[t] = (1 - f) * ((1 - e) * x[At(x, p, row.low, column.low)] +
                      e * x[At(x, p, row.low, column.high)]) +
           f * ((1 - e) * x[At(x, p, row.high, column.low)] +
                e * x[At(x, p, row.high, column.high)]);
  });
  return {y};
}

ReferenceOp UpsampleOp() {
  ReferenceOp row = {"upsample_2d", Upsample};
  const Tolerance bilinear = ReductionTolerance(4);
  row.samples = {{{Uniform({1, 1, 1, 1})}, Scale(3, "nearest"), kExact},
                 {{Uniform({2, 3, 5, 7})}, Scale(1, "nearest"), kExact},
                 {{Uniform({2, 3, 5, 7})}, Scale(2, "nearest"), kExact},
                 {{Uniform({1, 3, 11, 13})}, Scale(3, "nearest"), kExact},
                 {{Uniform({1, 1, 1, 1})}, Scale(3, "bilinear"), bilinear},
                 {{Uniform({1, 2, 1, 4})}, Scale(2, "bilinear"), bilinear},
                 {{Uniform({2, 3, 5, 7})}, Scale(1, "bilinear"), bilinear},
                 {{Uniform({2, 3, 5, 7})}, Scale(2, "bilinear"), bilinear},
                 {{Uniform({1, 3, 11, 13})}, Scale(3, "bilinear"), bilinear},
                 {{Uniform({1, 1, 3, 2})}, Scale(8, "bilinear"), bilinear}};
  row.rejections = {
      {"rank 3", {Uniform({3, 4, 5})}, Scale(2, "nearest")},
      {"no rows", {Uniform({1, 1, 0, 5})}, Scale(2, "nearest")},
      {"a zero scale", {Uniform({1, 1, 4, 4})}, Scale(0, "nearest")},
      {"an unknown mode", {Uniform({1, 1, 4, 4})}, Scale(2, "cubic")},
      {"an output extent above 32 bits", {Uniform({1, 1, 1, 4})}, Scale(1 << 30, "nearest")},
      {"an output count above 32 bits", {Uniform({1, 1, 1, 1})}, Scale(1 << 16, "nearest")},
      {"an I32 operand", {Integers(DType::I32, {1, 1, 4, 4}, 0, 5)}, Scale(2, "nearest")},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> PoolReference() {
  return {WindowOp("avg_pool_2d", AvgPool, false), MaxPoolOp(), AdaptiveOp(), UpsampleOp()};
}

}  // namespace oa::reference
