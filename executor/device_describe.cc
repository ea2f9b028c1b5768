#include "executor/device_describe.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace oa::exec {
namespace {

constexpr uint32_t kMinInvocations = 256;

struct PropertyChain {
  VkPhysicalDeviceProperties2 core = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceVulkan11Properties v11 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceVulkan13Properties v13 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sm = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
};

std::string VersionText(uint32_t version) {
  return absl::StrCat(VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".",
                      VK_API_VERSION_PATCH(version));
}

DeviceType TypeOf(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceType::kIntegrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceType::kDiscrete;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceType::kVirtual;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceType::kCpu;
    default:
      return DeviceType::kOther;
  }
}

ExtensionSet QueryExtensions(VkPhysicalDevice device) {
  uint32_t count = 0;
  std::vector<VkExtensionProperties> properties;
  if (vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS) {
    return {};
  }
  properties.resize(count);
  if (vkEnumerateDeviceExtensionProperties(device, nullptr, &count, properties.data()) < 0) {
    return {};
  }
  ExtensionSet names;
  for (uint32_t i = 0; i < count; ++i) names.insert(properties[i].extensionName);
  return names;
}

// A family that does compute and not graphics keeps long dispatches away from a desktop's frames.
std::optional<uint32_t> PickQueueFamily(VkPhysicalDevice device, uint32_t& timestamp_bits) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (VkQueueFlags unwanted : {VkQueueFlags{VK_QUEUE_GRAPHICS_BIT}, VkQueueFlags{0}}) {
    for (uint32_t i = 0; i < count; ++i) {
      const VkQueueFlags flags = families[i].queueFlags;
      if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || (flags & unwanted) != 0) continue;
      timestamp_bits = families[i].timestampValidBits;
      return i;
    }
  }
  return std::nullopt;
}

MemorySnapshot QueryMemory(VkPhysicalDevice device, bool unified) {
  VkPhysicalDeviceMemoryProperties properties;
  vkGetPhysicalDeviceMemoryProperties(device, &properties);
  MemorySnapshot memory;
  memory.unified = unified;
  for (uint32_t i = 0; i < properties.memoryTypeCount; ++i) {
    const VkMemoryType& type = properties.memoryTypes[i];
    memory.types.push_back({type.propertyFlags, type.heapIndex});
  }
  for (uint32_t i = 0; i < properties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = properties.memoryHeaps[i];
    memory.heaps.push_back({heap.size, (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
  }
  return memory;
}

void AddSubgroupFeatures(const VkPhysicalDeviceVulkan11Properties& v11,
                         std::vector<std::string>& features) {
  if ((v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return;
  for (std::string& name : SubgroupFeatureNames(v11.subgroupSupportedOperations)) {
    features.push_back(std::move(name));
  }
}

void FillProfile(const PropertyChain& properties, DeviceDescription& description) {
  const VkPhysicalDeviceLimits& limits = properties.core.properties.limits;
  DeviceProfile& profile = description.info.profile;
  profile.name = description.info.name;
  profile.is_cpu = description.info.type == DeviceType::kCpu;
  const VkPhysicalDeviceVulkan13Properties& v13 = properties.v13;
  if (v13.minSubgroupSize == v13.maxSubgroupSize || profile.is_cpu) {
    profile.subgroup_size = properties.v11.subgroupSize;
  }
  profile.shared_memory_bytes = limits.maxComputeSharedMemorySize;
  profile.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  profile.max_workgroups_per_axis = *std::min_element(std::begin(limits.maxComputeWorkGroupCount),
                                                      std::end(limits.maxComputeWorkGroupCount));
  profile.max_allocation_bytes =
      std::min(properties.v11.maxMemoryAllocationSize, v13.maxBufferSize);
  for (const MemoryHeapInfo& heap : description.memory.heaps) {
    if (heap.device_local) profile.heap_bytes = std::max(profile.heap_bytes, heap.size_bytes);
  }
  profile.compute_units =
      profile.is_cpu ? std::thread::hardware_concurrency() : properties.sm.shaderSMCount;
}

// What keeps OA from using the device, as a clause; "" when nothing does.
std::string WhyUnsuitable(FeatureChain& features, const DeviceProfile& profile) {
  const std::vector<std::string> missing = MissingFeatures(features);
  if (!missing.empty()) {
    return absl::StrCat("the driver lacks ", absl::StrJoin(missing, ", "),
                        "; a newer driver may have it");
  }
  if (profile.max_workgroup_invocations < kMinInvocations) {
    return absl::StrFormat("it allows %u invocations per workgroup and OA needs %u",
                           profile.max_workgroup_invocations, kMinInvocations);
  }
  return "";
}

void QueryProperties(VkPhysicalDevice device, const ExtensionSet& extensions,
                     PropertyChain& chain) {
  chain.core.pNext = &chain.v11;
  chain.v11.pNext = &chain.v12;
  chain.v12.pNext = &chain.v13;
  if (extensions.contains(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) chain.v13.pNext = &chain.sm;
  vkGetPhysicalDeviceProperties2(device, &chain.core);
}

// The part that needs Vulkan 1.3 structures.
void DescribeModernDevice(VkPhysicalDevice device, DeviceDescription& description) {
  PropertyChain properties;
  QueryProperties(device, description.extensions, properties);
  DeviceInfo& info = description.info;
  info.driver = absl::StrCat(properties.v12.driverName, ": ", properties.v12.driverInfo);
  std::memcpy(info.uuid.data(), properties.v11.deviceUUID, info.uuid.size());
  FillProfile(properties, description);

  const VkPhysicalDeviceLimits& limits = properties.core.properties.limits;
  std::copy_n(limits.maxComputeWorkGroupSize, 3, description.limits.max_local_size.begin());
  description.limits.non_coherent_atom_bytes = limits.nonCoherentAtomSize;
  const bool sized_compute =
      (properties.v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  description.limits.min_subgroup_size =
      sized_compute ? properties.v13.minSubgroupSize : properties.v11.subgroupSize;
  description.limits.max_subgroup_size =
      sized_compute ? properties.v13.maxSubgroupSize : properties.v11.subgroupSize;

  FeatureChain features;
  QueryFeatures(device, description.extensions, features);
  info.profile.features = FeatureNames(features);
  AddSubgroupFeatures(properties.v11, info.profile.features);
  if (description.extensions.contains(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) {
    info.profile.features.push_back("memory_budget");
  }
  std::sort(info.profile.features.begin(), info.profile.features.end());
  info.unsuitable = WhyUnsuitable(features, info.profile);
}

}  // namespace

DeviceDescription DescribeDevice(VkPhysicalDevice device, uint32_t index) {
  DeviceDescription description;
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(device, &properties);
  DeviceInfo& info = description.info;
  info.index = index;
  info.name = properties.deviceName;
  info.type = TypeOf(properties.deviceType);
  info.api_version = VersionText(properties.apiVersion);
  info.driver_version = properties.driverVersion;
  info.vendor_id = properties.vendorID;
  info.device_id = properties.deviceID;
  if (properties.apiVersion < VK_API_VERSION_1_3) {
    info.unsuitable = absl::StrCat("its driver offers Vulkan ", info.api_version,
                                   " and OA needs 1.3; a newer driver may have it");
    return description;
  }
  const bool unified = info.type == DeviceType::kCpu || info.type == DeviceType::kIntegrated;
  description.memory = QueryMemory(device, unified);
  description.extensions = QueryExtensions(device);
  DescribeModernDevice(device, description);
  const std::optional<uint32_t> family =
      PickQueueFamily(device, description.limits.timestamp_valid_bits);
  if (!family.has_value()) info.unsuitable = "it has no compute queue";
  description.queue_family = family.value_or(0);
  if (description.limits.timestamp_valid_bits != 0) {
    info.timestamp_period_ns = properties.limits.timestampPeriod;
  }
  return description;
}

}  // namespace oa::exec
