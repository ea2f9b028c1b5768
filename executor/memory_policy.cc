#include "executor/memory_policy.h"

#include <bit>
#include <initializer_list>
#include <optional>

#include "absl/status/status.h"
#include "volk.h"

namespace oa::exec {
namespace {

constexpr uint32_t kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr uint32_t kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr uint32_t kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr uint32_t kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
// Types that need a feature OA does not enable, or that are slow by design.
constexpr uint32_t kUnwanted =
    VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

class Picker {
 public:
  Picker(const MemorySnapshot& memory, uint32_t allowed) : memory_(memory), allowed_(allowed) {}

  // The first set of flags that some type has decides; among its types, the one with the fewest
  // further flags, then the lowest index (drivers list faster types first).
  std::optional<uint32_t> Pick(std::initializer_list<uint32_t> flag_sets) const {
    for (uint32_t flags : flag_sets) {
      std::optional<uint32_t> best;
      for (uint32_t i = 0; i < memory_.types.size(); ++i) {
        const uint32_t have = memory_.types[i].flags;
        const bool usable = (allowed_ >> i & 1) != 0 && (have & kUnwanted) == 0;
        if (!usable || (have & flags) != flags) continue;
        if (!best || std::popcount(have) < std::popcount(memory_.types[*best].flags)) best = i;
      }
      if (best) return best;
    }
    return std::nullopt;
  }

 private:
  const MemorySnapshot& memory_;
  uint32_t allowed_;
};

// A host that shares the device's memory works in it directly. Reading memory that the host does
// not cache is slower than the copy it would save.
void ChooseUnified(const MemorySnapshot& memory, const Picker& picker, uint32_t shared,
                   MemoryPolicy& policy) {
  policy.arena = {shared, true};
  policy.io = {shared, true};
  policy.arguments = {shared, true};
  policy.stage_inputs = false;
  policy.stage_outputs =
      (memory.types[shared].flags & kCached) == 0 && picker.Pick({kVisible | kCached}).has_value();
}

// Arenas stay on the card. Inputs are written across the bus when the host can see enough of it;
// outputs never are read that way.
void ChooseDiscrete(const MemorySnapshot& memory, const Picker& picker, uint32_t local,
                    uint64_t io_bytes, MemoryPolicy& policy) {
  const std::optional<uint32_t> bar = picker.Pick({kLocal | kVisible | kCoherent});
  // Without resizable BAR the window is 256 MiB for all programs together: leave half of it.
  const bool direct =
      bar.has_value() && io_bytes <= memory.heaps[memory.types[*bar].heap].size_bytes / 2;
  policy.arena = {local, false};
  policy.io = {direct ? *bar : local, direct};
  policy.arguments = {bar.value_or(policy.upload.type), true};
  policy.stage_inputs = !direct;
  policy.stage_outputs = true;
}

}  // namespace

absl::StatusOr<MemoryPolicy> ChooseMemory(const MemorySnapshot& memory, uint32_t allowed_types,
                                          uint64_t io_bytes) {
  const Picker picker(memory, allowed_types);
  const std::optional<uint32_t> local = picker.Pick({kLocal, 0});
  const std::optional<uint32_t> upload = picker.Pick({kVisible | kCoherent, kVisible});
  const std::optional<uint32_t> readback =
      picker.Pick({kVisible | kCached | kCoherent, kVisible | kCached, kVisible | kCoherent});
  if (!local || !upload || !readback) {
    return absl::FailedPreconditionError(
        "the device has no host-visible memory for storage buffers; update the driver");
  }
  MemoryPolicy policy;
  policy.upload = {*upload, true};
  policy.readback = {*readback, true};
  const std::optional<uint32_t> shared =
      picker.Pick({kLocal | kVisible | kCoherent | kCached, kLocal | kVisible | kCached,
                   kLocal | kVisible | kCoherent, kLocal | kVisible});
  if (memory.unified && shared) {
    ChooseUnified(memory, picker, *shared, policy);
  } else {
    ChooseDiscrete(memory, picker, *local, io_bytes, policy);
  }
  return policy;
}

MemoryPolicy StageEverything(MemoryPolicy policy) {
  policy.arena.mapped = false;
  policy.io.mapped = false;
  policy.stage_inputs = true;
  policy.stage_outputs = true;
  return policy;
}

}  // namespace oa::exec
