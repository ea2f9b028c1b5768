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

// Where one allocation lies.
struct MemoryUse {
  uint32_t type = 0;    // index into MemorySnapshot::types
  bool mapped = false;  // the host reads and writes it directly
};

struct MemoryPolicy {
  MemoryUse arena;             // transient and persistent arenas
  MemoryUse io;                // io arenas
  MemoryUse arguments;         // argument blocks
  MemoryUse upload;            // staging, written by the host in order
  MemoryUse readback;          // staging, read by the host
  bool stage_inputs = false;   // inputs go through an upload buffer
  bool stage_outputs = false;  // outputs are copied to a readback buffer
};

// `allowed_types` is a bit mask of usable types, `io_bytes` the size of all io arenas of a session.
// FailedPrecondition when the device offers no memory of a kind that Vulkan promises.
absl::StatusOr<MemoryPolicy> ChooseMemory(const MemorySnapshot& memory, uint32_t allowed_types,
                                          uint64_t io_bytes);

// The same memory, used as on a discrete GPU without resizable BAR: tests run the staging paths on
// devices that do not need them.
MemoryPolicy StageEverything(MemoryPolicy policy);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_MEMORY_POLICY_H_
