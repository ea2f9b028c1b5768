#include "tests/support/device.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"

namespace oa::testing {
namespace {

struct Shared {
  bool required = false;
  bool tried = false;
  std::mutex mutex;  // messages may come from pipeline threads
  std::vector<std::string> messages;
  std::unique_ptr<exec::Instance> instance;
  std::unique_ptr<exec::Device> device;
  absl::Status status;
};

Shared& State() {
  static Shared& shared = *new Shared();
  return shared;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status Open(Shared& shared) {
  exec::InstanceOptions options;
  options.validation = Environment("OA_TEST_NO_VALIDATION") != "1";
  options.synchronization_validation = options.validation;
  options.on_message = [&shared](const std::string& message) {
    std::lock_guard<std::mutex> lock(shared.mutex);
    shared.messages.push_back(message);
  };
  OA_ASSIGN_OR_RETURN(shared.instance, exec::Instance::Create(options));
  OA_ASSIGN_OR_RETURN(std::vector<exec::DeviceInfo> devices, shared.instance->EnumerateDevices());
  OA_ASSIGN_OR_RETURN(uint32_t index,
                      exec::SelectDevice(devices, Environment("OA_TEST_DEVICE")));
  OA_ASSIGN_OR_RETURN(shared.device, exec::Device::Open(*shared.instance, index, {}));
  return absl::OkStatus();
}

}  // namespace

void RequireDevice(bool required) { State().required = required; }

exec::Device* TestDevice() {
  Shared& shared = State();
  if (!shared.tried) {
    shared.tried = true;
    shared.status = Open(shared);
  }
  if (shared.status.ok()) return shared.device.get();
  if (shared.required) {
    FAIL("no Vulkan device, and --require-device was given: ", shared.status.ToString());
  }
  MESSAGE("skipped, no Vulkan device: ", shared.status.ToString());
  return nullptr;
}

const KernelPack& TestKernels() {
  static const KernelPack& pack = *new KernelPack([] {
    std::string path = Environment("OA_KERNELS");
    if (path.empty()) path = OA_TEST_KERNELS;
    absl::StatusOr<KernelPack> loaded = KernelPack::Load(path);
    REQUIRE_MESSAGE(loaded.ok(), loaded.status().ToString());
    return *std::move(loaded);
  }());
  return pack;
}

std::vector<std::string> CloseDevice() {
  Shared& shared = State();
  std::vector<std::string> problems;
  if (shared.device != nullptr && shared.device->live_objects() != 0) {
    problems.push_back(
        absl::StrCat(shared.device->live_objects(), " Vulkan objects were never destroyed"));
  }
  shared.device.reset();
  shared.instance.reset();
  problems.insert(problems.end(), shared.messages.begin(), shared.messages.end());
  return problems;
}

}  // namespace oa::testing
