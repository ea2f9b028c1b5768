// Selection among device snapshots; needs no driver.
#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "executor/device.h"

namespace oa::exec {
namespace {

DeviceInfo Make(uint32_t index, const std::string& name, DeviceType type,
                const std::string& unsuitable = "") {
  DeviceInfo info;
  info.index = index;
  info.name = name;
  info.type = type;
  info.unsuitable = unsuitable;
  return info;
}

std::vector<DeviceInfo> Machine() {
  return {Make(0, "llvmpipe (LLVM 15.0.6, 256 bits)", DeviceType::kCpu),
          Make(1, "Intel(R) UHD Graphics 770", DeviceType::kIntegrated),
          Make(2, "Old Radeon", DeviceType::kDiscrete, "its driver offers Vulkan 1.2.0"),
          Make(3, "NVIDIA GeForce RTX 4090", DeviceType::kDiscrete),
          Make(4, "NVIDIA GeForce RTX 4090", DeviceType::kDiscrete),
          Make(5, "NVIDIA T400", DeviceType::kDiscrete)};
}

TEST_CASE("the default is the best suitable device") {
  std::vector<DeviceInfo> devices = Machine();
  CHECK(*SelectDevice(devices, "") == 3);
  devices.resize(3);
  CHECK(*SelectDevice(devices, "") == 1);
  devices.erase(devices.begin() + 1);
  CHECK(*SelectDevice(devices, "") == 0);
}

TEST_CASE("a device is found by index and by part of its name") {
  const std::vector<DeviceInfo> devices = Machine();
  CHECK(*SelectDevice(devices, "5") == 5);
  CHECK(*SelectDevice(devices, "0") == 0);
  CHECK(*SelectDevice(devices, "LLVMPIPE") == 0);
  CHECK(*SelectDevice(devices, "t400") == 5);
  CHECK(*SelectDevice(devices, "geforce") == 3);  // two of one model
  CHECK(*SelectDevice(devices, "RTX 4090") == 3);
}

TEST_CASE("what cannot be selected says why and what exists") {
  const std::vector<DeviceInfo> devices = Machine();
  const auto ambiguous = SelectDevice(devices, "nvidia").status();
  CHECK(absl::IsInvalidArgument(ambiguous));
  CHECK(absl::StrContains(ambiguous.message(), "5: NVIDIA T400 (discrete)"));
  for (const char* request : {"2", "radeon"}) {
    const auto unsuitable = SelectDevice(devices, request).status();
    CHECK(absl::IsFailedPrecondition(unsuitable));
    CHECK(absl::StrContains(unsuitable.message(), "Vulkan 1.2.0"));
  }
  for (const char* request : {"9", "4090", "voodoo", "99999999999999999999"}) {
    CHECK(absl::IsNotFound(SelectDevice(devices, request).status()));
  }
  CHECK(absl::IsFailedPrecondition(SelectDevice({}, "").status()));
  CHECK(absl::IsNotFound(SelectDevice({}, "0").status()));
}

}  // namespace
}  // namespace oa::exec
