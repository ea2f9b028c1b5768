#include "tools/run/device_context.h"

#include <cstdio>
#include <vector>

#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {

void AddDeviceFlags(CLI::App& app, DeviceFlags& flags) {
  app.add_option("--device", flags.device, "Index or part of the name, see `oa-run devices`");
  app.add_flag("--validate", flags.validate,
               "Load the Vulkan validation layers; any message is\nan error (exit code 4)");
  app.add_flag("--serialize", flags.serialize, "Wait after every dispatch, to find one that hangs");
  app.add_flag("--no-cache", flags.no_cache, "Do not use the pipeline cache on disk");
}

absl::StatusOr<std::unique_ptr<DeviceContext>> DeviceContext::Open(const DeviceFlags& flags) {
  std::unique_ptr<DeviceContext> context(new DeviceContext());
  exec::InstanceOptions options;
  options.validation = flags.validate;
  options.synchronization_validation = flags.validate;
  options.on_message = [messages = context->messages_.get()](const std::string& text) {
    std::lock_guard<std::mutex> lock(messages->mutex);
    ++messages->count;
    std::fprintf(stderr, "oa-run: validation: %s\n", text.c_str());
  };
  absl::StatusOr<std::unique_ptr<exec::Instance>> instance = exec::Instance::Create(options);
  if (!instance.ok()) return WithExit(instance.status(), kExitDevice);
  context->instance_ = *std::move(instance);
  absl::StatusOr<std::vector<exec::DeviceInfo>> devices = context->instance_->EnumerateDevices();
  if (!devices.ok()) return WithExit(devices.status(), kExitDevice);
  const absl::StatusOr<uint32_t> index = exec::SelectDevice(*devices, flags.device);
  if (!index.ok()) {
    return WithExit(index.status(), flags.device.empty() ? kExitDevice : kExitUsage);
  }
  exec::DeviceOptions device_options;
  if (!flags.no_cache) device_options.cache_folder = exec::DefaultCacheFolder();
  device_options.serialize = flags.serialize;
  auto device = exec::Device::Open(*context->instance_, *index, device_options);
  if (!device.ok()) return WithExit(device.status(), kExitDevice);
  context->device_ = *std::move(device);
  return context;
}

absl::Status DeviceContext::Close() {
  device_.reset();
  instance_.reset();
  if (messages_->count == 0) return absl::OkStatus();
  return WithExit(
      absl::FailedPreconditionError(absl::StrCat("the validation layers reported ",
                                                 messages_->count, " problems, printed above.")),
      kExitDevice);
}

}  // namespace oa::tools
