// DeviceBuffer: one VkBuffer with its own memory, its device address and, when the host
// uses it directly, its mapping. Movable; not thread-safe.
#ifndef OA_EXECUTOR_MEMORY_H_
#define OA_EXECUTOR_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/handles.h"
#include "executor/memory_policy.h"

namespace oa::exec {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;

  // At least `size_bytes`, and never of size zero. `what` names the buffer in error messages.
  // ResourceExhausted when there is not that much. Pre-condition: a mapped use has a host-visible
  // memory type.
  static absl::StatusOr<DeviceBuffer> Create(DeviceImpl& device, uint64_t size_bytes, MemoryUse use,
                                             absl::string_view what);

  VkBuffer buffer() const { return buffer_.get(); }
  VkDeviceAddress address() const { return address_; }
  uint64_t size_bytes() const { return size_bytes_; }
  bool mapped() const { return host_ != nullptr; }
  explicit operator bool() const { return static_cast<bool>(buffer_); }

  // The host's view of bytes [offset, offset + size). Pre-condition: mapped.
  absl::Span<uint8_t> Host(uint64_t offset, uint64_t size) const {
    return absl::MakeSpan(host_ + offset, size);
  }

  // Makes host writes to the range visible to the device, or device writes to the host. Nothing to
  // do on coherent memory. Pre-condition: mapped.
  absl::Status Flush(uint64_t offset, uint64_t size) const;
  absl::Status Invalidate(uint64_t offset, uint64_t size) const;

 private:
  absl::Status Allocate(MemoryUse use, absl::string_view what);
  VkMappedMemoryRange AtomRange(uint64_t offset, uint64_t size) const;

  // The order matters: a buffer is destroyed before its memory.
  Handle<VkDeviceMemory> memory_;
  Handle<VkBuffer> buffer_;
  DeviceImpl* device_ = nullptr;
  VkDeviceAddress address_ = 0;
  uint64_t size_bytes_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint8_t* host_ = nullptr;
  bool coherent_ = false;
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_MEMORY_H_
