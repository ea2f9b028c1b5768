// Element conversion from what NumPy stores to what a graph wants.
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/common/element.h"
#include "tools/common/exit_codes.h"
#include "tools/common/npy.h"

namespace oa::tools {
namespace {

struct Bf16 {
  uint16_t bits;
};

// F32 has 24 significant bits.
template <class Integer>
bool FitsFloat(Integer value) {
  if (value == 0) return true;
  uint64_t magnitude = static_cast<uint64_t>(value);
  if constexpr (std::is_signed_v<Integer>) {
    if (value < 0) magnitude = uint64_t{0} - magnitude;
  }
  return (magnitude >> std::countr_zero(magnitude)) < (uint64_t{1} << 24);
}

// Each returns false when `from` has no place in the wanted type.
template <class From>
bool ConvertOne(From from, float& to) {
  to = static_cast<float>(from);
  if constexpr (std::is_floating_point_v<From>)
    return std::isfinite(to) || !std::isfinite(from);
  else
    return FitsFloat(from);
}

template <class From>
bool ConvertOne(From from, Bf16& to) {
  to.bits = FloatToBf16(static_cast<float>(from));
  return std::isfinite(Bf16ToFloat(to.bits)) || !std::isfinite(static_cast<double>(from));
}

template <class From, class To>
bool ConvertOne(From from, To& to) {
  to = static_cast<To>(from);
  return std::in_range<To>(from);
}

template <class From, class To>
absl::StatusOr<Blob> ConvertAll(const NpyArray& array, DType wanted) {
  const uint64_t count = array.header.data_bytes / sizeof(From);
  std::vector<uint8_t> bytes(count * sizeof(To));
  const uint8_t* source = array.data.bytes().data();
  for (uint64_t i = 0; i < count; ++i) {
    From from;
    To to;
    std::memcpy(&from, source + i * sizeof(From), sizeof(From));
    if (!ConvertOne(from, to)) {
      return UsageError("element ", i, " of '", array.name, "' is ", +from, ", which does not fit ",
                        DTypeName(wanted), ".");
    }
    std::memcpy(bytes.data() + i * sizeof(To), &to, sizeof(To));
  }
  return Blob::Own(std::move(bytes));
}

absl::Status NoConversion(const NpyArray& array, DType wanted) {
  const char* advice = "";
  if (wanted == DType::I32) advice = "; save array.astype(np.int32)";
  if (wanted == DType::U32) advice = "; save array.astype(np.uint32)";
  if (wanted == DType::U8) advice = "; save array.astype(np.uint8)";
  if (wanted == DType::BF16) advice = "; save array.astype(np.float32)";
  return UsageError("'", array.name, "' holds ", NpyTypeName(array.header), " where ",
                    DTypeName(wanted), " is wanted", advice, ".");
}

template <class From>
absl::StatusOr<Blob> ConvertFloats(const NpyArray& array, DType wanted) {
  if (wanted == DType::F32) return ConvertAll<From, float>(array, wanted);
  if (wanted == DType::BF16) return ConvertAll<From, Bf16>(array, wanted);
  return NoConversion(array, wanted);
}

template <class From>
absl::StatusOr<Blob> ConvertIntegers(const NpyArray& array, DType wanted) {
  switch (wanted) {
    case DType::F32:
      return ConvertAll<From, float>(array, wanted);
    case DType::I32:
      return ConvertAll<From, int32_t>(array, wanted);
    case DType::U32:
      return ConvertAll<From, uint32_t>(array, wanted);
    case DType::U8:
      return ConvertAll<From, uint8_t>(array, wanted);
    case DType::BF16:
      break;
  }
  return NoConversion(array, wanted);
}

bool SameRepresentation(const NpyHeader& header, DType wanted) {
  switch (wanted) {
    case DType::F32:
      return header.kind == 'f' && header.item_bytes == 4;
    case DType::I32:
      return header.kind == 'i' && header.item_bytes == 4;
    case DType::U32:
      return header.kind == 'u' && header.item_bytes == 4;
    case DType::U8:
      return (header.kind == 'u' || header.kind == 'b') && header.item_bytes == 1;
    case DType::BF16:
      return header.kind == 'u' && header.item_bytes == 2;
  }
  return false;
}

}  // namespace

absl::StatusOr<Blob> ConvertElements(const NpyArray& array, DType wanted) {
  const NpyHeader& header = array.header;
  if (SameRepresentation(header, wanted)) return array.data;
  if (header.kind == 'f') {
    return header.item_bytes == 8 ? ConvertFloats<double>(array, wanted)
                                  : ConvertFloats<float>(array, wanted);
  }
  const bool is_signed = header.kind == 'i';
  switch (header.item_bytes) {
    case 1:
      return is_signed ? ConvertIntegers<int8_t>(array, wanted)
                       : ConvertIntegers<uint8_t>(array, wanted);
    case 2:
      return is_signed ? ConvertIntegers<int16_t>(array, wanted)
                       : ConvertIntegers<uint16_t>(array, wanted);
    case 4:
      return is_signed ? ConvertIntegers<int32_t>(array, wanted)
                       : ConvertIntegers<uint32_t>(array, wanted);
    default:
      return is_signed ? ConvertIntegers<int64_t>(array, wanted)
                       : ConvertIntegers<uint64_t>(array, wanted);
  }
}

}  // namespace oa::tools
