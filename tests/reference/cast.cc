#include <bit>
#include <cmath>
#include <limits>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

Attributes To(DType dtype) { return Attributes().Token("dtype", DTypeName(dtype)); }

bool IsFloating(DType dtype) { return dtype == DType::F32 || dtype == DType::BF16; }

// Rounds to nearest even among the 16-bit prefixes of F32, by value rather than by bits.
double RoundToBf16(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), -126);
  const double unit = std::ldexp(1.0, exponent - 7);
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::abs(rounded) >= 0x1p128 ? std::copysign(INFINITY, x) : rounded;
}

double Saturate(double x, DType dtype) {
  if (std::isnan(x)) return 0;
  double low = 0, high = 255;
  if (dtype == DType::U32) high = 4294967295.0;
  if (dtype == DType::I32) low = -2147483648.0, high = 2147483647.0;
  return std::min(std::max(std::trunc(x), low), high);
}

double Convert(double x, DType from, DType to) {
  if (from == to) return x;
  if (!IsFloating(to)) return Saturate(x, to);
  const double single = static_cast<float>(x);
  return to == DType::F32 ? single : RoundToBf16(single);
}

std::vector<Tensor> Cast(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  Tensor y(*ParseDType(attributes.token("dtype")), x.shape);
  for (size_t i = 0; i < y.size(); ++i) y[i] = Convert(x[i], x.dtype, y.dtype);
  return {y};
}

std::vector<double> Interesting(DType dtype) {
  const double inf = INFINITY, nan = NAN;
  switch (dtype) {
    case DType::F32:
      // The last ones: ties of BF16 rounding, one of them to infinity, and the least normal number.
      return {0, -0.0, 0.99, -0.99, 1.5, -1.5, 254.9, 255, 255.5, 256, -1, 2147483520.0,
              2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0, 1e30, -1e30,
              inf, -inf, nan, 1.00390625, 1.01171875, 3.3961775e38, 1.1754944e-38};
    case DType::I32: return {0, 1, -1, 255, 256, -255, 16777217, 2147483647, -2147483648.0};
    case DType::U32: return {0, 1, 255, 256, 16777217, 2147483648.0, 4294967295.0};
    case DType::U8: return {0, 1, 127, 128, 255};
    case DType::BF16:
      return {0, 1, -1, 0.99609375, 255, 256, -3.5, 0x1p31, 0x1p32, -0x1p33, inf, -inf, nan};
  }
  return {};
}

InputSpec Random(DType dtype, Shape shape) {
  if (!IsFloating(dtype)) return Integers(dtype, std::move(shape), 0, 255);
  InputSpec spec = Uniform(std::move(shape), -300, 300);
  spec.dtype = dtype;
  return spec;
}

ReferenceOp CastOp() {
  ReferenceOp row = {"cast", Cast};
  for (int from = 0; from < kDTypeCount; ++from) {
    const DType source = static_cast<DType>(from);
    for (int to = 0; to < kDTypeCount; ++to) {
      const Attributes target = To(static_cast<DType>(to));
      const std::vector<double> special = Interesting(source);
      Sample sample = {{Values(source, {special.size()}, special)}, target, kExact};
      sample.differentiate = false;
      row.samples.push_back(sample);
      // Every number of elements in the last word of a small type; then more than a workgroup.
      for (const Shape& shape : {Shape{1}, Shape{2}, Shape{3, 1, 7}, Shape{5, 263}, Shape{0}}) {
        sample.inputs = {Random(source, shape)};
        row.samples.push_back(sample);
      }
    }
  }
  row.rejections = {{"an unknown dtype", {Uniform({3})}, Attributes().Token("dtype", "f64")},
                    {"no dtype", {Uniform({3})}},
                    {"no operand", {}, To(DType::I32)},
                    {"an absent operand", {Absent()}, To(DType::I32)}};
  return row;
}

std::vector<Tensor> Detach(absl::Span<const Tensor> inputs, const Attributes&) {
  return {inputs[0]};
}

ReferenceOp DetachOp() {
  ReferenceOp row = {"detach", Detach};
  row.samples = {{{Uniform({3, 5})}, {}, kExact},
                 {{Integers(DType::U8, {2, 1031}, 0, 255)}, {}, kExact},
                 {{Integers(DType::I32, {1}, -5, 5)}, {}, kExact}};
  row.rejections = {{"no operand", {}}, {"two operands", {Uniform({3}), Uniform({3})}}};
  return row;
}

std::vector<Tensor> Full(absl::Span<const Tensor>, const Attributes& attributes) {
  const std::vector<int64_t>& extents = attributes.list("shape");
  Tensor y(DType::F32, Shape(extents.begin(), extents.end()));
  for (double& value : y.data) value = attributes.f32("value");
  return {y};
}

ReferenceOp FullOp() {
  const auto full = [](std::vector<int64_t> shape, float value) {
    return Attributes().List("shape", std::move(shape)).F32("value", value);
  };
  ReferenceOp row = {"full", Full};
  row.samples = {{{}, full({3, 1, 7}, 0.1f), kExact},
                 {{}, full({2, 1031}, -3), kExact},
                 {{}, full({1}, INFINITY), kExact},
                 {{}, full({2, 0}, 1), kExact}};
  row.rejections = {{"rank 0", {}, full({}, 1)},
                    {"rank 9", {}, full({1, 1, 1, 1, 1, 1, 1, 1, 1}, 1)},
                    {"a negative extent", {}, full({3, -1}, 1)},
                    {"2^32 elements", {}, full({65536, 65536}, 1)},
                    {"an extent of 2^32", {}, full({int64_t{1} << 32}, 1)},
                    {"an operand", {Uniform({3})}, full({3}, 1)}};
  return row;
}

std::vector<Tensor> FillWith(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  Tensor dst = inputs[0];
  for (double& value : dst.data) value = attributes.f32("value");
  return {dst};
}

ReferenceOp FillOp() {
  const auto value = [](float v) { return Attributes().F32("value", v); };
  ReferenceOp row = {"fill", FillWith};
  row.samples = {{{Uniform({3, 7})}, value(0), kExact},
                 {{Uniform({2, 1031})}, value(0.1f), kExact}};
  row.rejections = {{"an I32 operand", {Integers(DType::I32, {3}, 0, 5)}, value(0)},
                    {"no operand", {}, value(0)},
                    {"no value", {Uniform({3})}}};
  return row;
}

}  // namespace

std::vector<ReferenceOp> CastReference() { return {CastOp(), DetachOp(), FullOp(), FillOp()}; }

}  // namespace oa::reference
