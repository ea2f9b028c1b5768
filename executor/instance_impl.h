// InstanceImpl: the VkInstance and, with validation, its message callback. Thread-safe after
// creation.
#ifndef OA_EXECUTOR_INSTANCE_IMPL_H_
#define OA_EXECUTOR_INSTANCE_IMPL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/device.h"
#include "volk.h"

namespace oa::exec {

class InstanceImpl final : public Instance {
 public:
  explicit InstanceImpl(InstanceOptions options) : options_(std::move(options)) {}
  ~InstanceImpl() override;

  absl::Status Initialize();
  absl::StatusOr<std::vector<DeviceInfo>> EnumerateDevices() const override;

  // In the order of DeviceInfo::index.
  absl::StatusOr<std::vector<VkPhysicalDevice>> PhysicalDevices() const;

 private:
  absl::Status CreateInstance(const VkDebugUtilsMessengerCreateInfoEXT& messenger);
  absl::Status CreateMessenger(const VkDebugUtilsMessengerCreateInfoEXT& messenger);

  InstanceOptions options_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_INSTANCE_IMPL_H_
