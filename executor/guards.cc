#include "executor/guards.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "executor/memory_report.h"
#include "schema/checked_math.h"

namespace oa::exec {
namespace {

constexpr uint64_t kVectorBytes = 16;

// The buffer that ends closest in front of the offset: where the stray write most likely started.
std::string Neighbour(const Plan& plan, uint32_t arena, uint64_t offset) {
  const PlanBuffer* before = nullptr;
  const PlanBuffer* after = nullptr;
  const auto end = [](const PlanBuffer& buffer) { return buffer.offset + buffer.size_bytes; };
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.arena != arena || buffer.size_bytes == 0) continue;
    if (end(buffer) <= offset) {
      if (before == nullptr || end(buffer) > end(*before)) before = &buffer;
    } else if (after == nullptr || buffer.offset < after->offset) {
      after = &buffer;
    }
  }
  if (before != nullptr) {
    return absl::StrFormat("%u bytes behind the end of \"%s\"", offset - end(*before),
                           before->name);
  }
  if (after != nullptr) {
    return absl::StrFormat("%u bytes in front of \"%s\"", after->offset - offset, after->name);
  }
  return "in an arena without buffers";
}

}  // namespace

std::vector<ByteRange> CoveredRanges(const Plan& plan, uint32_t arena) {
  std::vector<ByteRange> places;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.arena != arena || buffer.size_bytes == 0) continue;
    places.push_back({buffer.offset, AlignUp(buffer.size_bytes, kVectorBytes)});
  }
  std::sort(places.begin(), places.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<ByteRange> merged;
  for (const ByteRange& place : places) {
    if (!merged.empty() && place.offset <= merged.back().offset + merged.back().size) {
      const uint64_t end =
          std::max(merged.back().offset + merged.back().size, place.offset + place.size);
      merged.back().size = end - merged.back().offset;
    } else {
      merged.push_back(place);
    }
  }
  return merged;
}

std::vector<ByteRange> GuardRanges(const Plan& plan, uint32_t arena, uint64_t arena_bytes) {
  std::vector<ByteRange> guards;
  uint64_t position = 0;
  for (const ByteRange& covered : CoveredRanges(plan, arena)) {
    if (covered.offset > position) guards.push_back({position, covered.offset - position});
    position = covered.offset + covered.size;
  }
  if (arena_bytes > position) guards.push_back({position, arena_bytes - position});
  return guards;
}

absl::Status CheckGuard(const Plan& plan, uint32_t arena, const ByteRange& range,
                        absl::Span<const uint8_t> bytes) {
  const auto bad =
      std::find_if(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != kGuardByte; });
  if (bad == bytes.end()) return absl::OkStatus();
  const uint64_t offset = range.offset + static_cast<uint64_t>(bad - bytes.begin());
  return absl::InternalError(absl::StrCat(
      "a kernel wrote outside of its buffers: arena ", arena, " (",
      ArenaKindName(plan.arenas[arena].kind), "), byte ", offset, ", ",
      Neighbour(plan, arena, offset), "; the value there is 0x", absl::Hex(*bad, absl::kZeroPad2)));
}

}  // namespace oa::exec
