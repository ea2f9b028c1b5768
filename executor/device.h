// Vulkan devices: enumeration as plain snapshots, selection as a pure function, and the opened
// Device that programs run on.
#ifndef OA_EXECUTOR_DEVICE_H_
#define OA_EXECUTOR_DEVICE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schema/device_profile.h"

namespace oa::exec {

enum class DeviceType : uint8_t { kOther, kIntegrated, kDiscrete, kVirtual, kCpu };
const char* DeviceTypeName(DeviceType type);

// Everything about a physical device that selection and planning look at; no Vulkan handles.
struct DeviceInfo {
  uint32_t index = 0;
  std::string name;
  DeviceType type = DeviceType::kOther;
  std::string driver;       // "llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)"
  std::string api_version;  // "1.3.230"
  std::array<uint8_t, 16> uuid = {};
  uint32_t driver_version = 0;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  DeviceProfile profile;
  float timestamp_period_ns = 0;  // 0: the compute queue has no timestamps
  std::string unsuitable;         // why OA cannot use it, "" when it can
};

// Picks the device a user asked for. `request` is "" (best suitable: discrete, integrated, virtual,
// CPU, then index), an index, or a case-insensitive part of a name.
// NotFound / InvalidArgument / FailedPrecondition list what exists and say why it does not fit.
absl::StatusOr<uint32_t> SelectDevice(absl::Span<const DeviceInfo> devices,
                                      const std::string& request);

struct InstanceOptions {
  // Loads VK_LAYER_KHRONOS_validation; every warning and error is given to `on_message`.
  // FailedPrecondition when the layer is not installed.
  bool validation = false;
  bool synchronization_validation = false;
  std::function<void(const std::string& message)> on_message;
};

// The Vulkan loader and instance. Thread-safe after creation; must outlive its devices.
class Instance {
 public:
  // FailedPrecondition with the package to install when there is no loader.
  static absl::StatusOr<std::unique_ptr<Instance>> Create(const InstanceOptions& options);
  virtual ~Instance() = default;

  // A fresh snapshot of all physical devices, suitable or not.
  virtual absl::StatusOr<std::vector<DeviceInfo>> EnumerateDevices() const = 0;
};

struct DeviceOptions {
  // Folder of the pipeline cache; "" keeps none. DefaultCacheFolder() is the usual choice.
  std::string cache_folder;
  // Waits after every dispatch, so that a lost device names the culprit.
  bool serialize = false;
  // Fault injection for tests: the N-th Vulkan call that can fail (counted from 1) fails with
  // VK_ERROR_OUT_OF_DEVICE_MEMORY; 0: none.
  uint64_t fail_call = 0;
  // Fault injection: that call fails with VK_ERROR_DEVICE_LOST instead.
  bool fail_as_lost = false;
};

// An opened device with one compute queue. Thread-compatible: programs may be created and run
// from one thread at a time.
class Device {
 public:
  static absl::StatusOr<std::unique_ptr<Device>> Open(Instance& instance, uint32_t index,
                                                      const DeviceOptions& options);
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Vulkan objects that exist now; zero again after everything made from the device is gone.
  virtual uint64_t live_objects() const = 0;

  // Vulkan calls that could have failed, made since the device was opened: the range of
  // DeviceOptions::fail_call.
  virtual uint64_t vulkan_calls() const = 0;
};

// $XDG_CACHE_HOME/oa, else $HOME/.cache/oa, else "".
std::string DefaultCacheFolder();

}  // namespace oa::exec

#endif  // OA_EXECUTOR_DEVICE_H_
