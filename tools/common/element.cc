#include "tools/common/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace oa::tools {
namespace {

template <class T>
T Load(absl::Span<const uint8_t> bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

float Bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  // Rounding a NaN could carry into the exponent or clear the mantissa.
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

double ElementAt(DType dtype, absl::Span<const uint8_t> bytes, uint64_t index) {
  switch (dtype) {
    case DType::F32:
      return Load<float>(bytes, index);
    case DType::I32:
      return Load<int32_t>(bytes, index);
    case DType::U32:
      return Load<uint32_t>(bytes, index);
    case DType::U8:
      return bytes[index];
    case DType::BF16:
      return Bf16ToFloat(Load<uint16_t>(bytes, index));
  }
  return 0;
}

std::string ElementText(DType dtype, absl::Span<const uint8_t> bytes, uint64_t index) {
  const double value = ElementAt(dtype, bytes, index);
  if (dtype != DType::F32 && dtype != DType::BF16) return absl::StrFormat("%.0f", value);
  const float wanted = static_cast<float>(value);
  for (int digits = 6; digits < 9; ++digits) {
    const std::string text = absl::StrFormat("%.*g", digits, value);
    if (std::strtof(text.c_str(), nullptr) == wanted) return text;
  }
  return absl::StrFormat("%.9g", value);
}

std::string FirstElements(DType dtype, absl::Span<const uint8_t> bytes, uint64_t limit) {
  const uint64_t count = bytes.size() / SizeOf(dtype);
  std::string text;
  for (uint64_t i = 0; i < std::min(count, limit); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", ElementText(dtype, bytes, i));
  }
  if (count > limit) absl::StrAppend(&text, " ..");
  return text;
}

}  // namespace oa::tools
