// Which memory type each allocation uses and what is staged: a pure function of a plain snapshot,
// so that every kind of device is tested without owning it. Stateless.
#ifndef OA_EXECUTOR_MEMORY_POLICY_H_
#define OA_EXECUTOR_MEMORY_POLICY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace oa::exec {

struct MemoryTypeInfo {
  uint32_t flags = 0;  // VkMemoryPropertyFlags
  uint32_t heap = 0;   // index into MemorySnapshot::heaps
};

struct MemoryHeapInfo {
  uint64_t size_bytes = 0;
  bool device_local = false;
};

struct MemorySnapshot {
  std::vector<MemoryTypeInfo> types;  // by Vulkan's index
  std::vector<MemoryHeapInfo> heaps;
  bool unified = false;  // device and host share one memory: CPU drivers, integrated GPUs
};

// Indices of memory types. An allocation is mapped exactly when its type is host-visible.
struct MemoryPolicy {
  uint32_t arena_type = 0;     // transient and persistent arenas
  uint32_t io_type = 0;        // io arenas
  uint32_t argument_type = 0;  // argument blocks
  uint32_t upload_type = 0;    // staging, written by the host in order
  uint32_t readback_type = 0;  // staging, read by the host
  bool stage_inputs = false;   // inputs go through an upload buffer
  bool stage_outputs = false;  // outputs are copied to a readback buffer
};

// `allowed_types` is a bit mask of usable types, `io_bytes` the size of all io arenas of a session.
// FailedPrecondition when the device offers no memory of a kind that Vulkan promises.
absl::StatusOr<MemoryPolicy> ChooseMemory(const MemorySnapshot& memory, uint32_t allowed_types,
                                          uint64_t io_bytes);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_MEMORY_POLICY_H_
