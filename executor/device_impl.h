// DeviceImpl: the opened VkDevice, its queue, its function table, and the one path through which
// calls that can fail are made. Thread-compatible; Call and CountObject are thread-safe.
#ifndef OA_EXECUTOR_DEVICE_IMPL_H_
#define OA_EXECUTOR_DEVICE_IMPL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "executor/device.h"
#include "executor/device_describe.h"
#include "executor/vk_check.h"
#include "volk.h"

namespace oa::exec {

// Every buffer is created with the same usage, so that memory types are chosen once.
inline constexpr VkBufferUsageFlags kBufferUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

class DeviceImpl final : public Device {
 public:
  // Takes ownership of `device`.
  DeviceImpl(VkPhysicalDevice physical, VkDevice device, DeviceDescription description,
             DeviceOptions options);
  ~DeviceImpl() override;
  DeviceImpl(const DeviceImpl&) = delete;
  DeviceImpl& operator=(const DeviceImpl&) = delete;

  const DeviceInfo& info() const override { return description_.info; }
  uint64_t live_objects() const override { return live_objects_; }
  uint64_t vulkan_calls() const override { return calls_; }

  VkDevice handle() const { return device_; }
  VkQueue queue() const { return queue_; }
  uint32_t queue_family() const { return description_.queue_family; }
  const VolkDeviceTable& vk() const { return vk_; }
  const DeviceLimits& limits() const { return description_.limits; }
  const MemorySnapshot& memory() const { return description_.memory; }
  uint32_t allowed_memory_types() const { return allowed_memory_types_; }
  const DeviceOptions& options() const { return options_; }

  // Calls `function` and turns its result into a Status that names `call` and `what`. Every call
  // that can fail goes through here, so that fault injection reaches it.
  template <class... Parameters, class... Arguments>
  absl::Status Call(const char* call, absl::string_view what,
                    VkResult(VKAPI_PTR* function)(Parameters...), Arguments... arguments) {
    if (++calls_ == options_.fail_call) {
      return VkStatus(options_.fail_as_lost ? VK_ERROR_DEVICE_LOST : VK_ERROR_OUT_OF_DEVICE_MEMORY,
                      call, what);
    }
    return VkStatus(function(arguments...), call, what);
  }

  void CountObject(int change) { live_objects_ += change; }

  // Waits until the queue is empty, whatever happens: for destructors.
  void Drain() const;

  // One line a heap: size, and budget and use where the driver tells them.
  std::string HeapText() const;

  // What the driver says about a lost device, or "".
  std::string FaultText() const;

 private:
  VkPhysicalDevice physical_;
  VkDevice device_;
  DeviceDescription description_;
  DeviceOptions options_;
  VolkDeviceTable vk_ = {};
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t allowed_memory_types_ = 0;
  std::atomic<uint64_t> live_objects_ = 0;
  std::atomic<uint64_t> calls_ = 0;
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_DEVICE_IMPL_H_
