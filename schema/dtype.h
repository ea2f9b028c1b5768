// Element types and shapes, shared by every layer. Stateless.
#ifndef OA_SCHEMA_DTYPE_H_
#define OA_SCHEMA_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace oa {

// Element type. The numbers are stored in files: append only.
enum class DType : uint8_t { F32 = 0, I32 = 1, U32 = 2, U8 = 3, BF16 = 4 };
inline constexpr int kDTypeCount = 5;

inline constexpr DType F32 = DType::F32;
inline constexpr DType I32 = DType::I32;
inline constexpr DType U32 = DType::U32;
inline constexpr DType U8 = DType::U8;
inline constexpr DType BF16 = DType::BF16;

inline constexpr int kMaxRank = 8;

// Extents, slowest first. Values are dense and row-major.
using Shape = absl::InlinedVector<uint64_t, 4>;

// Bytes of one element.
uint64_t SizeOf(DType dtype);

// "f32", "i32", "u32", "u8" or "bf16".
absl::string_view DTypeName(DType dtype);
std::optional<DType> ParseDType(absl::string_view name);

// Number of elements (1 for rank 0); ResourceExhausted when the product exceeds 64 bits.
absl::StatusOr<uint64_t> ElementCount(absl::Span<const uint64_t> shape);

// Bytes of a dense value; ResourceExhausted on overflow.
absl::StatusOr<uint64_t> ByteSize(DType dtype, absl::Span<const uint64_t> shape);

// "[2, 3]".
std::string ShapeText(absl::Span<const uint64_t> shape);

// "f32[2, 3]".
std::string TypeText(DType dtype, absl::Span<const uint64_t> shape);

}  // namespace oa

#endif  // OA_SCHEMA_DTYPE_H_
