#include "tests/executor/fixture.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <mutex>

#include "schema/status_macros.h"

namespace oa::testing {
namespace {

struct Shared {
  bool required = false;
  std::mutex mutex;  // messages may come from pipeline threads
  std::vector<std::string> messages;
  std::unique_ptr<exec::Instance> instance;
};

Shared& State() {
  static Shared& shared = *new Shared();
  return shared;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::unique_ptr<exec::Device>> TryOpen(const exec::DeviceOptions& options) {
  Shared& shared = State();
  if (shared.instance == nullptr) {
    exec::InstanceOptions instance;
    instance.validation = Environment("OA_TEST_NO_VALIDATION") != "1";
    instance.synchronization_validation = instance.validation;
    instance.on_message = [&shared](const std::string& message) {
      std::lock_guard<std::mutex> lock(shared.mutex);
      shared.messages.push_back(message);
    };
    OA_ASSIGN_OR_RETURN(shared.instance, exec::Instance::Create(instance));
  }
  OA_ASSIGN_OR_RETURN(std::vector<exec::DeviceInfo> devices, shared.instance->EnumerateDevices());
  OA_ASSIGN_OR_RETURN(uint32_t index, exec::SelectDevice(devices, Environment("OA_TEST_DEVICE")));
  return exec::Device::Open(*shared.instance, index, options);
}

}  // namespace

void RequireDevice(bool required) { State().required = required; }

std::unique_ptr<exec::Device> OpenDevice(const exec::DeviceOptions& options) {
  absl::StatusOr<std::unique_ptr<exec::Device>> device = TryOpen(options);
  if (device.ok()) return *std::move(device);
  if (State().required) FAIL("no Vulkan device: ", device.status().ToString());
  MESSAGE("skipped, no Vulkan device: ", device.status().ToString());
  return nullptr;
}

std::vector<std::string> CloseInstance() {
  State().instance.reset();
  return State().messages;
}

Running Start(exec::Device& device, Plan plan, const exec::SessionOptions& options) {
  Running running;
  auto program = exec::Program::Create(device, std::move(plan), TinyKernels());
  REQUIRE_MESSAGE(program.ok(), program.status().ToString());
  running.program = *std::move(program);
  auto session = exec::Session::Create(*running.program, options);
  REQUIRE_MESSAGE(session.ok(), session.status().ToString());
  running.session = *std::move(session);
  return running;
}

std::vector<float> RunFor(exec::Session& session, const std::string& output,
                          const std::vector<float>& x) {
  const std::vector<uint8_t> bytes = ToBytes(x);
  auto outputs = session.Run({{"x", bytes}});
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
  REQUIRE(outputs->contains(output));
  return ToFloats(outputs->at(output));
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "oa_test_XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace oa::testing
