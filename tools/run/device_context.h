// DeviceContext: the Vulkan instance and device a command works on, with the flags that choose
// them.
#ifndef OA_TOOLS_RUN_DEVICE_CONTEXT_H_
#define OA_TOOLS_RUN_DEVICE_CONTEXT_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/device.h"

namespace oa::tools {

struct DeviceFlags {
  std::string device;      // index or part of a name, "" for the best
  bool validate = false;   // any validation message fails the command
  bool serialize = false;  // wait after every dispatch
  bool no_cache = false;
};

void AddDeviceFlags(CLI::App& app, DeviceFlags& flags);

class DeviceContext {
 public:
  // Every error has exit code 4, except an unknown --device, which is a usage error.
  static absl::StatusOr<std::unique_ptr<DeviceContext>> Open(const DeviceFlags& flags);

  exec::Device& device() { return *device_; }

  // Closes device and instance; what was made from them must be gone. With --validate an error
  // when there was any message, also about objects that were left behind.
  absl::Status Close();

 private:
  struct Messages {
    std::mutex mutex;
    int count = 0;
  };

  DeviceContext() = default;

  std::unique_ptr<Messages> messages_ = std::make_unique<Messages>();
  std::unique_ptr<exec::Instance> instance_;
  std::unique_ptr<exec::Device> device_;
};

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_DEVICE_CONTEXT_H_
