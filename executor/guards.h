// Guards: the bytes of an arena that belong to no buffer. Tests fill them with a pattern and look
// whether it survives, which finds writes outside of buffers. Pure.
#ifndef OA_EXECUTOR_GUARDS_H_
#define OA_EXECUTOR_GUARDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "schema/plan.h"

namespace oa::exec {

inline constexpr uint8_t kGuardByte = 0xA5;
inline constexpr uint32_t kGuardWord = 0xA5A5A5A5;
// Added behind every arena when guards are checked, so that its last buffer has one too.
inline constexpr uint64_t kGuardTailBytes = 4096;

struct ByteRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// The bytes of an arena that buffers cover, as disjoint ascending ranges. A buffer covers
// [offset, offset + size_bytes rounded up to 16): kernels may work in 16-byte vectors.
std::vector<ByteRange> CoveredRanges(const Plan& plan, uint32_t arena);

// The rest of the arena when it is `arena_bytes` long.
std::vector<ByteRange> GuardRanges(const Plan& plan, uint32_t arena, uint64_t arena_bytes);

// Internal, naming arena, offset and the buffer in front, unless every byte is kGuardByte.
absl::Status CheckGuard(const Plan& plan, uint32_t arena, const ByteRange& range,
                        absl::Span<const uint8_t> bytes);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_GUARDS_H_
