#include <initializer_list>
#include <utility>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

Attributes Steps(int64_t stride, int64_t padding) {
  return Attributes().I64("stride", stride).I64("padding", padding);
}
Attributes Dilated(int64_t stride, int64_t padding, int64_t dilation) {
  return Steps(stride, padding).I64("dilation", dilation);
}
Attributes Grouped(int64_t stride, int64_t padding, int64_t groups) {
  return Steps(stride, padding).I64("groups", groups);
}

// Calls visit(i0, i1, ..) for all tuples below the extents, the last fastest.
template <class Visit, class... Rest>
void ForEach(Visit visit, uint64_t extent, Rest... rest) {
  for (uint64_t i = 0; i < extent; ++i) {
    if constexpr (sizeof...(rest) == 0) {
      visit(i);
    } else {
      ForEach([&](auto... inner) { visit(i, inner...); }, rest...);
    }
  }
}

double& At(Tensor& x, std::initializer_list<uint64_t> position) {
  size_t offset = 0, axis = 0;
  for (uint64_t i : position) offset = offset * x.shape[axis++] + i;
  return x[offset];
}
double At(const Tensor& x, std::initializer_list<uint64_t> position) {
  return At(const_cast<Tensor&>(x), position);
}

// What output position `i` reads through kernel cell `k`; false outside the axis.
bool Reads(uint64_t i, uint64_t k, int64_t stride, int64_t dilation, int64_t padding,
           uint64_t extent, uint64_t& at) {
  const int64_t position =
      static_cast<int64_t>(i) * stride + static_cast<int64_t>(k) * dilation - padding;
  at = static_cast<uint64_t>(position);
  return position >= 0 && position < static_cast<int64_t>(extent);
}

uint64_t Positions(uint64_t extent, uint64_t kernel, int64_t stride, int64_t padding,
                   int64_t dilation) {
  const int64_t window = dilation * (static_cast<int64_t>(kernel) - 1) + 1;
  return static_cast<uint64_t>((static_cast<int64_t>(extent) + 2 * padding - window) / stride + 1);
}

uint64_t Transposed(uint64_t extent, uint64_t kernel, int64_t stride, int64_t padding,
                    int64_t dilation) {
  const int64_t window = dilation * (static_cast<int64_t>(kernel) - 1) + 1;
  return static_cast<uint64_t>((static_cast<int64_t>(extent) - 1) * stride - 2 * padding + window);
}

// ---- Forward loops ----

std::vector<Tensor> Conv1d(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor &x = inputs[0], &weight = inputs[1], &bias = inputs[2];
  const int64_t stride = attributes.i64("stride"), padding = attributes.i64("padding");
  const int64_t dilation = attributes.i64("dilation");
  const uint64_t length = x.shape[2], kernel = weight.shape[2];
  Tensor y(DType::F32, {x.shape[0], weight.shape[0],
                        Positions(length, kernel, stride, padding, dilation)});
  ForEach(
      [&](uint64_t n, uint64_t o, uint64_t l) {
        double sum = bias[o];
        ForEach(
            [&](uint64_t c, uint64_t k) {
              uint64_t at;
              if (!Reads(l, k, stride, dilation, padding, length, at)) return;
              sum += At(x, {n, c, at}) * At(weight, {o, c, k});
            },
            x.shape[1], kernel);
        At(y, {n, o, l}) = sum;
      },
      y.shape[0], y.shape[1], y.shape[2]);
  return {y};
}

std::vector<Tensor> Conv2d(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor &x = inputs[0], &weight = inputs[1], &bias = inputs[2];
  const int64_t stride = attributes.i64("stride"), padding = attributes.i64("padding");
  const uint64_t groups = static_cast<uint64_t>(attributes.i64("groups"));
  const uint64_t kernel = weight.shape[2], channels = x.shape[1] / groups;
  const uint64_t outputs = weight.shape[0] / groups;
  Tensor y(DType::F32, {x.shape[0], weight.shape[0],
                        Positions(x.shape[2], kernel, stride, padding, 1),
                        Positions(x.shape[3], kernel, stride, padding, 1)});
  ForEach(
      [&](uint64_t n, uint64_t o, uint64_t i, uint64_t j) {
        double sum = bias[o];
        ForEach(
            [&](uint64_t c, uint64_t a, uint64_t b) {
              uint64_t h, w;
              if (!Reads(i, a, stride, 1, padding, x.shape[2], h)) return;
              if (!Reads(j, b, stride, 1, padding, x.shape[3], w)) return;
              sum += At(x, {n, o / outputs * channels + c, h, w}) * At(weight, {o, c, a, b});
            },
            channels, kernel, kernel);
        At(y, {n, o, i, j}) = sum;
      },
      y.shape[0], y.shape[1], y.shape[2], y.shape[3]);
  return {y};
}

// Scatters, where the kernels gather.
std::vector<Tensor> ConvTranspose1d(absl::Span<const Tensor> inputs,
                                    const Attributes& attributes) {
  const Tensor &x = inputs[0], &weight = inputs[1];
  const int64_t stride = attributes.i64("stride"), padding = attributes.i64("padding");
  const int64_t dilation = attributes.i64("dilation");
  const uint64_t kernel = weight.shape[2];
  Tensor y(DType::F32, {x.shape[0], weight.shape[1],
                        Transposed(x.shape[2], kernel, stride, padding, dilation)});
  ForEach(
      [&](uint64_t n, uint64_t c, uint64_t i, uint64_t o, uint64_t k) {
        uint64_t at;
        if (!Reads(i, k, stride, dilation, padding, y.shape[2], at)) return;
        At(y, {n, o, at}) += At(x, {n, c, i}) * At(weight, {c, o, k});
      },
      x.shape[0], x.shape[1], x.shape[2], weight.shape[1], kernel);
  return {y};
}

std::vector<Tensor> ConvTranspose2d(absl::Span<const Tensor> inputs,
                                    const Attributes& attributes) {
  const Tensor &x = inputs[0], &weight = inputs[1], &bias = inputs[2];
  const int64_t stride = attributes.i64("stride"), padding = attributes.i64("padding");
  const uint64_t kernel = weight.shape[2];
  Tensor y(DType::F32, {x.shape[0], weight.shape[1],
                        Transposed(x.shape[2], kernel, stride, padding, 1),
                        Transposed(x.shape[3], kernel, stride, padding, 1)});
  const uint64_t plane = y.shape[2] * y.shape[3];
  for (size_t t = 0; t < y.size(); ++t) y[t] = bias[t / plane % y.shape[1]];
  ForEach(
      [&](uint64_t n, uint64_t c, uint64_t h, uint64_t w, uint64_t o, uint64_t a, uint64_t b) {
        uint64_t i, j;
        if (!Reads(h, a, stride, 1, padding, y.shape[2], i)) return;
        if (!Reads(w, b, stride, 1, padding, y.shape[3], j)) return;
        At(y, {n, o, i, j}) += At(x, {n, c, h, w}) * At(weight, {c, o, a, b});
      },
      x.shape[0], x.shape[1], x.shape[2], x.shape[3], weight.shape[1], kernel, kernel);
  return {y};
}

// ---- Samples ----

// Products of values up to 2 * 1. Gradients are sums over batch and positions.
Sample SampleOf(Shape x, Shape weight, uint64_t bias, uint64_t terms, Attributes attributes) {
  Sample sample;
  sample.inputs = {Uniform(std::move(x)), Uniform(std::move(weight), -1, 1)};
  if (bias > 0) sample.inputs.push_back(Uniform({bias}));
  sample.attributes = std::move(attributes);
  sample.tolerance = ReductionTolerance(static_cast<double>(terms), 2);
  sample.gradient = {5e-5, 2e-4};
  return sample;
}

ReferenceOp Conv2dOp() {
  ReferenceOp row = {"conv_2d", Conv2d};
  const auto sample = [&](Shape x, Shape w, Attributes attributes) {
    row.samples.push_back(SampleOf(std::move(x), w, w[0], w[1] * w[2] * w[3] + 1, attributes));
  };
  sample({1, 1, 1, 1}, {1, 1, 1, 1}, Grouped(1, 0, 1));
  sample({2, 3, 7, 5}, {5, 3, 3, 3}, Grouped(1, 1, 1));
  sample({1, 3, 11, 8}, {2, 3, 3, 3}, Grouped(2, 1, 1));
  sample({1, 2, 13, 11}, {3, 2, 4, 4}, Grouped(3, 2, 1));
  sample({1, 2, 9, 7}, {2, 2, 2, 2}, Grouped(5, 3, 1));   // cells that nothing reads, padding > K
  sample({2, 6, 5, 7}, {9, 2, 3, 3}, Grouped(1, 1, 3));
  sample({1, 7, 5, 5}, {7, 1, 3, 3}, Grouped(2, 0, 7));   // depthwise
  sample({1, 10, 3, 3}, {10, 5, 1, 1}, Grouped(1, 0, 2));
  sample({3, 5, 17, 19}, {7, 5, 3, 3}, Grouped(2, 1, 1));
  const auto reject = [&](const char* why, Shape x, Shape w, uint64_t bias, Attributes attributes) {
    row.rejections.push_back({why, {Uniform(x), Uniform(w), Uniform({bias})}, attributes});
  };
  reject("rank 3", {3, 5, 5}, {2, 3, 3, 3}, 2, Grouped(1, 0, 1));
  reject("a weight of rank 3", {1, 3, 5, 5}, {2, 3, 3}, 2, Grouped(1, 0, 1));
  reject("a kernel that is not square", {1, 3, 5, 5}, {2, 3, 3, 2}, 2, Grouped(1, 0, 1));
  reject("zero groups", {1, 3, 5, 5}, {2, 3, 3, 3}, 2, Grouped(1, 0, 0));
  reject("channels that groups do not divide", {1, 3, 5, 5}, {2, 1, 3, 3}, 2, Grouped(1, 0, 2));
  reject("outputs that groups do not divide", {1, 4, 5, 5}, {3, 2, 3, 3}, 3, Grouped(1, 0, 2));
  reject("a weight for all channels", {1, 4, 5, 5}, {2, 4, 3, 3}, 2, Grouped(1, 0, 2));
  reject("another bias", {1, 3, 5, 5}, {2, 3, 3, 3}, 3, Grouped(1, 0, 1));
  reject("no channels", {1, 0, 5, 5}, {2, 0, 3, 3}, 2, Grouped(1, 0, 1));
  reject("a zero stride", {1, 3, 5, 5}, {2, 3, 3, 3}, 2, Grouped(0, 0, 1));
  reject("a negative padding", {1, 3, 5, 5}, {2, 3, 3, 3}, 2, Grouped(1, -1, 1));
  reject("a kernel above the padded height", {1, 3, 2, 9}, {2, 3, 5, 5}, 2, Grouped(1, 1, 1));
  reject("a kernel above the padded width", {1, 3, 9, 2}, {2, 3, 5, 5}, 2, Grouped(1, 1, 1));
  reject("a padded extent above 32 bits", {1, 3, 5, 5}, {2, 3, 3, 3}, 2,
         Grouped(1, 0x7fffffff, 1));
  row.rejections.push_back({"an I32 operand",
                            {Integers(DType::I32, {1, 1, 4, 4}, 0, 5), Uniform({1, 1, 2, 2}),
                             Uniform({1})},
                            Grouped(1, 0, 1)});
  return row;
}

ReferenceOp Conv1dOp() {
  ReferenceOp row = {"conv_1d", Conv1d};
  const auto sample = [&](Shape x, Shape w, Attributes attributes) {
    row.samples.push_back(SampleOf(std::move(x), w, w[0], w[1] * w[2] + 1, attributes));
  };
  sample({1, 1, 1}, {1, 1, 1}, Dilated(1, 0, 1));
  sample({2, 3, 7}, {5, 3, 3}, Dilated(1, 1, 1));
  sample({2, 3, 23}, {2, 3, 3}, Dilated(3, 2, 4));
  sample({1, 2, 11}, {6, 2, 2}, Dilated(5, 7, 3));
  sample({3, 5, 131}, {7, 5, 5}, Dilated(2, 2, 1));
  const auto reject = [&](const char* why, Shape x, Shape w, uint64_t bias, Attributes attributes) {
    row.rejections.push_back({why, {Uniform(x), Uniform(w), Uniform({bias})}, attributes});
  };
  reject("rank 4", {1, 3, 5, 5}, {2, 3, 3}, 2, Dilated(1, 0, 1));
  reject("a weight of rank 4", {1, 3, 5}, {2, 3, 3, 3}, 2, Dilated(1, 0, 1));
  reject("other channels", {1, 3, 5}, {2, 4, 3}, 2, Dilated(1, 0, 1));
  reject("another bias", {1, 3, 5}, {2, 3, 3}, 1, Dilated(1, 0, 1));
  reject("an empty kernel", {1, 3, 5}, {2, 3, 0}, 2, Dilated(1, 0, 1));
  reject("a zero stride", {1, 3, 5}, {2, 3, 3}, 2, Dilated(0, 0, 1));
  reject("a zero dilation", {1, 3, 5}, {2, 3, 3}, 2, Dilated(1, 0, 0));
  reject("a dilated kernel above the padded length", {1, 3, 5}, {2, 3, 3}, 2, Dilated(1, 1, 4));
  reject("a dilation above 32 bits", {1, 3, 5}, {2, 3, 1}, 2, Dilated(1, 0, int64_t{1} << 32));
  row.rejections.push_back(
      {"an I32 weight",
       {Uniform({1, 1, 4}), Integers(DType::I32, {1, 1, 2}, 0, 5), Uniform({1})},
       Dilated(1, 0, 1)});
  return row;
}

ReferenceOp ConvTranspose1dOp() {
  ReferenceOp row = {"conv_transpose_1d", ConvTranspose1d};
  const auto sample = [&](Shape x, Shape w, Attributes attributes) {
    row.samples.push_back(SampleOf(std::move(x), w, 0, w[0] * w[2], attributes));
  };
  sample({1, 1, 1}, {1, 1, 1}, Dilated(1, 0, 1));
  sample({2, 3, 7}, {3, 5, 3}, Dilated(1, 1, 1));
  sample({2, 3, 7}, {3, 2, 3}, Dilated(3, 2, 4));
  sample({1, 2, 11}, {2, 6, 2}, Dilated(5, 1, 2));  // outputs that nothing reaches
  sample({3, 5, 67}, {5, 7, 4}, Dilated(2, 1, 1));
  const auto reject = [&](const char* why, Shape x, Shape w, Attributes attributes) {
    row.rejections.push_back({why, {Uniform(x), Uniform(w)}, attributes});
  };
  reject("rank 4", {1, 3, 5, 5}, {3, 2, 3}, Dilated(1, 0, 1));
  reject("a weight of rank 2", {1, 3, 5}, {3, 3}, Dilated(1, 0, 1));
  reject("other channels", {1, 3, 5}, {2, 3, 3}, Dilated(1, 0, 1));
  reject("an empty sequence", {1, 3, 0}, {3, 2, 3}, Dilated(1, 0, 1));
  reject("a zero stride", {1, 3, 5}, {3, 2, 3}, Dilated(0, 0, 1));
  reject("a zero dilation", {1, 3, 5}, {3, 2, 3}, Dilated(1, 0, 0));
  reject("an empty result", {1, 3, 2}, {3, 2, 3}, Dilated(1, 2, 1));
  reject("a result above 32 bits", {1, 3, 5}, {3, 2, 3}, Dilated(1 << 30, 0, 1));
  reject("a kernel above 32 bits", {1, 3, 5}, {3, 2, 5}, Dilated(1, 0, 1 << 30));
  row.rejections.push_back({"an I32 operand",
                            {Integers(DType::I32, {1, 1, 4}, 0, 5), Uniform({1, 1, 2})},
                            Dilated(1, 0, 1)});
  return row;
}

ReferenceOp ConvTranspose2dOp() {
  ReferenceOp row = {"conv_transpose_2d", ConvTranspose2d};
  const auto sample = [&](Shape x, Shape w, Attributes attributes) {
    row.samples.push_back(SampleOf(std::move(x), w, w[1], w[0] * w[2] * w[3] + 1, attributes));
  };
  sample({1, 1, 1, 1}, {1, 1, 1, 1}, Steps(1, 0));
  sample({2, 3, 5, 7}, {3, 5, 3, 3}, Steps(1, 1));
  sample({2, 3, 5, 4}, {3, 2, 4, 4}, Steps(2, 1));
  sample({1, 2, 3, 5}, {2, 6, 4, 4}, Steps(3, 2));
  sample({1, 2, 4, 3}, {2, 3, 2, 2}, Steps(5, 1));  // outputs that nothing reaches
  sample({2, 5, 9, 11}, {5, 7, 3, 3}, Steps(2, 1));
  const auto reject = [&](const char* why, Shape x, Shape w, uint64_t bias, Attributes attributes) {
    row.rejections.push_back({why, {Uniform(x), Uniform(w), Uniform({bias})}, attributes});
  };
  reject("rank 3", {3, 5, 5}, {3, 2, 3, 3}, 2, Steps(1, 0));
  reject("a weight of rank 3", {1, 3, 5, 5}, {3, 2, 3}, 2, Steps(1, 0));
  reject("a kernel that is not square", {1, 3, 5, 5}, {3, 2, 3, 2}, 2, Steps(1, 0));
  reject("other channels", {1, 3, 5, 5}, {2, 3, 3, 3}, 3, Steps(1, 0));
  reject("another bias", {1, 3, 5, 5}, {3, 2, 3, 3}, 3, Steps(1, 0));
  reject("an empty kernel", {1, 3, 5, 5}, {3, 2, 0, 0}, 2, Steps(1, 0));
  reject("a zero stride", {1, 3, 5, 5}, {3, 2, 3, 3}, 2, Steps(0, 0));
  reject("an empty height", {1, 3, 1, 9}, {3, 2, 2, 2}, 2, Steps(1, 1));
  reject("an empty width", {1, 3, 9, 1}, {3, 2, 2, 2}, 2, Steps(1, 1));
  reject("a result above 32 bits", {1, 3, 5, 5}, {3, 2, 3, 3}, 2, Steps(1 << 30, 0));
  row.rejections.push_back({"an I32 bias",
                            {Uniform({1, 1, 4, 4}), Uniform({1, 1, 2, 2}),
                             Integers(DType::I32, {1}, 0, 5)},
                            Steps(1, 0)});
  return row;
}

}  // namespace

std::vector<ReferenceOp> ConvReference() {
  return {Conv1dOp(), Conv2dOp(), ConvTranspose1dOp(), ConvTranspose2dOp()};
}

}  // namespace oa::reference
