// Choosing among device snapshots: pure, so that it is tested without any driver.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "executor/device.h"

namespace oa::exec {
namespace {

// Smaller is preferred.
int Rank(DeviceType type) {
  switch (type) {
    case DeviceType::kDiscrete:
      return 0;
    case DeviceType::kIntegrated:
      return 1;
    case DeviceType::kVirtual:
      return 2;
    case DeviceType::kCpu:
      return 3;
    case DeviceType::kOther:
      return 4;
  }
  return 5;
}

std::string ListDevices(absl::Span<const DeviceInfo> devices) {
  if (devices.empty()) return "no Vulkan device was found; install a Vulkan driver";
  std::string text = "devices:";
  for (const DeviceInfo& device : devices) {
    absl::StrAppend(&text, "\n  ", device.index, ": ", device.name, " (",
                    DeviceTypeName(device.type), ")");
    if (!device.unsuitable.empty()) absl::StrAppend(&text, ", unsuitable: ", device.unsuitable);
  }
  return text;
}

absl::StatusOr<uint32_t> CheckSuitable(const DeviceInfo& device,
                                       absl::Span<const DeviceInfo> devices) {
  if (device.unsuitable.empty()) return device.index;
  return absl::FailedPreconditionError(absl::StrCat("device ", device.index, " \"", device.name,
                                                    "\" cannot be used: ", device.unsuitable, "; ",
                                                    ListDevices(devices)));
}

const DeviceInfo* Best(absl::Span<const DeviceInfo* const> candidates) {
  const DeviceInfo* best = nullptr;
  for (const DeviceInfo* device : candidates) {
    if (!device->unsuitable.empty()) continue;
    if (best == nullptr || Rank(device->type) < Rank(best->type)) best = device;
  }
  return best;
}

absl::StatusOr<uint32_t> SelectByName(absl::Span<const DeviceInfo> devices,
                                      const std::string& request) {
  const std::string wanted = absl::AsciiStrToLower(request);
  std::vector<const DeviceInfo*> matches;
  for (const DeviceInfo& device : devices) {
    if (absl::StrContains(absl::AsciiStrToLower(device.name), wanted)) matches.push_back(&device);
  }
  if (matches.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no device is called \"", request, "\"; ", ListDevices(devices)));
  }
  const DeviceInfo* best = Best(matches);
  if (best == nullptr) return CheckSuitable(*matches.front(), devices);
  // Several cards of one model are interchangeable; different models are not.
  for (const DeviceInfo* match : matches) {
    if (match->unsuitable.empty() && match->name != best->name) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", request, "\" fits several devices, give an index; ", ListDevices(devices)));
    }
  }
  return best->index;
}

}  // namespace

const char* DeviceTypeName(DeviceType type) {
  switch (type) {
    case DeviceType::kIntegrated:
      return "integrated";
    case DeviceType::kDiscrete:
      return "discrete";
    case DeviceType::kVirtual:
      return "virtual";
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kOther:
      return "other";
  }
  return "unknown";
}

absl::StatusOr<uint32_t> SelectDevice(absl::Span<const DeviceInfo> devices,
                                      const std::string& request) {
  if (request.empty()) {
    std::vector<const DeviceInfo*> all;
    for (const DeviceInfo& device : devices) all.push_back(&device);
    const DeviceInfo* best = Best(all);
    if (best != nullptr) return best->index;
    return absl::FailedPreconditionError(
        absl::StrCat("no device can be used; ", ListDevices(devices)));
  }
  if (!std::all_of(request.begin(), request.end(), absl::ascii_isdigit)) {
    return SelectByName(devices, request);
  }
  uint32_t index = 0;
  if (absl::SimpleAtoi(request, &index)) {
    for (const DeviceInfo& device : devices) {
      if (device.index == index) return CheckSuitable(device, devices);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("there is no device ", request, "; ", ListDevices(devices)));
}

}  // namespace oa::exec
