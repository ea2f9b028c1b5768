#include "tests/support/tensors.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_format.h"

namespace oa::testing {
namespace {

using reference::InputSpec;
using reference::Tensor;

float FromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// The oracle's values are exact in BF16 already, so truncation is exact.
uint16_t ToBf16(double value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

template <class T, class From>
void Put(std::vector<uint8_t>& bytes, size_t i, From value) {
  const T element = static_cast<T>(value);
  std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
}

template <class T>
T Get(absl::Span<const uint8_t> bytes, size_t i) {
  T element;
  std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
  return element;
}

double Draw(const InputSpec& spec, std::mt19937_64& random) {
  // 53 random bits, not std::uniform_real_distribution: the same values with every library.
  const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  if (spec.fill == InputSpec::Fill::kIntegers) {
    return spec.low + std::floor(unit * (spec.high - spec.low + 1));
  }
  double value = spec.low + unit * (spec.high - spec.low);
  if (std::abs(value) < spec.keep_away_from_zero) {
    value = std::copysign(spec.keep_away_from_zero + std::abs(value), value);
  }
  if (spec.dtype == DType::BF16) return FromBf16(ToBf16(value));
  return static_cast<float>(value);
}

}  // namespace

Tensor Fill(const InputSpec& spec, uint64_t seed) {
  if (spec.fill == InputSpec::Fill::kAbsent) return Tensor();
  Tensor tensor(spec.dtype, spec.shape);
  if (spec.fill == InputSpec::Fill::kValues) {
    tensor.data = spec.values;
    if (spec.dtype == DType::F32) {
      for (double& value : tensor.data) value = static_cast<float>(value);
    }
    return tensor;
  }
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15ull + 1);
  for (double& value : tensor.data) value = Draw(spec, random);
  return tensor;
}

std::vector<uint8_t> ToBytes(const Tensor& tensor) {
  std::vector<uint8_t> bytes(tensor.size() * SizeOf(tensor.dtype));
  for (size_t i = 0; i < tensor.size(); ++i) {
    switch (tensor.dtype) {
      case DType::F32: Put<float>(bytes, i, tensor[i]); break;
      case DType::I32: Put<int32_t>(bytes, i, static_cast<int64_t>(tensor[i])); break;
      case DType::U32: Put<uint32_t>(bytes, i, static_cast<int64_t>(tensor[i])); break;
      case DType::U8: Put<uint8_t>(bytes, i, static_cast<int64_t>(tensor[i])); break;
      case DType::BF16: Put<uint16_t>(bytes, i, ToBf16(tensor[i])); break;
    }
  }
  return bytes;
}

Tensor FromBytes(DType dtype, const Shape& shape, absl::Span<const uint8_t> bytes) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < tensor.size(); ++i) {
    switch (dtype) {
      case DType::F32: tensor[i] = Get<float>(bytes, i); break;
      case DType::I32: tensor[i] = Get<int32_t>(bytes, i); break;
      case DType::U32: tensor[i] = Get<uint32_t>(bytes, i); break;
      case DType::U8: tensor[i] = Get<uint8_t>(bytes, i); break;
      case DType::BF16: tensor[i] = FromBf16(Get<uint16_t>(bytes, i)); break;
    }
  }
  return tensor;
}

std::string Compare(const Tensor& got, const Tensor& expected, reference::Tolerance tolerance) {
  if (got.size() != expected.size()) {
    return absl::StrFormat("%d elements, expected %d", got.size(), expected.size());
  }
  double worst = 0;
  size_t where = 0;
  size_t failures = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    if (got[i] == expected[i]) continue;
    const double excess = std::abs(got[i] - expected[i]) -
                          (tolerance.atol + tolerance.rtol * std::abs(expected[i]));
    if (excess <= 0) continue;
    if (failures++ == 0 || !(excess <= worst)) {
      worst = excess;
      where = i;
    }
  }
  if (failures == 0) return "";
  return absl::StrFormat("%d of %d elements differ; worst at %d: got %.9g, expected %.9g",
                         failures, got.size(), where, got[where], expected[where]);
}

}  // namespace oa::testing
