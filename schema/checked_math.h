// Overflow-checked 64-bit arithmetic: every size that comes from a file or a caller goes through
// it.
#ifndef OA_SCHEMA_CHECKED_MATH_H_
#define OA_SCHEMA_CHECKED_MATH_H_

#include <cstdint>
#include <optional>

namespace oa {

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// Rounds up without forming a sum that could overflow. `divisor` is not zero.
inline constexpr uint64_t CeilDiv(uint64_t value, uint64_t divisor) {
  return value / divisor + (value % divisor != 0);
}

// Smallest multiple of `alignment` (a power of two) that is at least `value`; value <= 2^63.
inline constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace oa

#endif  // OA_SCHEMA_CHECKED_MATH_H_
