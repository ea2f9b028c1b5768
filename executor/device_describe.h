// A physical device as OA sees it: the public DeviceInfo plus what opening and planning need.
// Plain data; not thread-safe to fill, immutable afterwards.
#ifndef OA_EXECUTOR_DEVICE_DESCRIBE_H_
#define OA_EXECUTOR_DEVICE_DESCRIBE_H_

#include <array>
#include <cstdint>

#include "executor/device.h"
#include "executor/device_features.h"
#include "executor/memory_policy.h"
#include "volk.h"

namespace oa::exec {

struct DeviceLimits {
  std::array<uint32_t, 3> max_local_size = {};
  uint64_t non_coherent_atom_bytes = 1;
  uint32_t timestamp_valid_bits = 0;
  uint32_t min_subgroup_size = 0;
  uint32_t max_subgroup_size = 0;
};

struct DeviceDescription {
  DeviceInfo info;
  DeviceLimits limits;
  MemorySnapshot memory;
  ExtensionSet extensions;
  uint32_t queue_family = 0;
};

DeviceDescription DescribeDevice(VkPhysicalDevice device, uint32_t index);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_DEVICE_DESCRIBE_H_
