#include "schema/dtype.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/checked_math.h"

namespace oa {
namespace {

struct DTypeRow {
  absl::string_view name;
  uint64_t size_bytes;
};

constexpr DTypeRow kDTypes[kDTypeCount] = {
    {"f32", 4}, {"i32", 4}, {"u32", 4}, {"u8", 1}, {"bf16", 2}};

}  // namespace

uint64_t SizeOf(DType dtype) { return kDTypes[static_cast<int>(dtype)].size_bytes; }

absl::string_view DTypeName(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

absl::StatusOr<uint64_t> ElementCount(absl::Span<const uint64_t> shape) {
  std::optional<uint64_t> count = 1;
  for (uint64_t extent : shape) {
    count = CheckedMul(*count, extent);
    if (!count) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the element count of shape ", ShapeText(shape), " does not fit 64 bits"));
    }
  }
  return *count;
}

absl::StatusOr<uint64_t> ByteSize(DType dtype, absl::Span<const uint64_t> shape) {
  absl::StatusOr<uint64_t> count = ElementCount(shape);
  if (!count.ok()) return count;
  std::optional<uint64_t> bytes = CheckedMul(*count, SizeOf(dtype));
  if (!bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the byte size of ", TypeText(dtype, shape), " does not fit 64 bits"));
  }
  return *bytes;
}

std::string ShapeText(absl::Span<const uint64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

std::string TypeText(DType dtype, absl::Span<const uint64_t> shape) {
  return absl::StrCat(DTypeName(dtype), ShapeText(shape));
}

}  // namespace oa
