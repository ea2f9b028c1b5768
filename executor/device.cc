#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/device_impl.h"
#include "executor/instance_impl.h"
#include "executor/memory_report.h"
#include "schema/status_macros.h"

namespace oa::exec {
namespace {

bool HasFeature(const DeviceDescription& description, absl::string_view name) {
  return description.info.profile.Has(name);
}

absl::StatusOr<VkDevice> CreateVkDevice(VkPhysicalDevice physical,
                                        const DeviceDescription& description) {
  FeatureChain supported;
  QueryFeatures(physical, description.extensions, supported);
  FeatureChain enabled;
  enabled.Link(description.extensions);
  EnableFeatures(supported, enabled);
  const std::vector<const char*> extensions = WantedExtensions(description.extensions);

  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = description.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &enabled.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkDevice device = VK_NULL_HANDLE;
  OA_RETURN_IF_ERROR(VkStatus(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice",
                              absl::StrCat("\"", description.info.name, "\"")));
  return device;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> Device::Open(Instance& instance, uint32_t index,
                                                     const DeviceOptions& options) {
  OA_ASSIGN_OR_RETURN(const std::vector<VkPhysicalDevice> devices,
                      static_cast<InstanceImpl&>(instance).PhysicalDevices());
  if (index >= devices.size()) {
    return absl::NotFoundError(
        absl::StrCat("there is no device ", index, "; ", devices.size(), " were found"));
  }
  DeviceDescription description = DescribeDevice(devices[index], index);
  if (!description.info.unsuitable.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("device ", index, " \"", description.info.name,
                     "\" cannot be used: ", description.info.unsuitable));
  }
  OA_ASSIGN_OR_RETURN(VkDevice device, CreateVkDevice(devices[index], description));
  return std::make_unique<DeviceImpl>(devices[index], device, std::move(description), options);
}

DeviceImpl::DeviceImpl(VkPhysicalDevice physical, VkDevice device, DeviceDescription description,
                       DeviceOptions options)
    : physical_(physical),
      device_(device),
      description_(std::move(description)),
      options_(std::move(options)) {
  volkLoadDeviceTable(&vk_, device_);
  vk_.vkGetDeviceQueue(device_, description_.queue_family, 0, &queue_);

  VkBufferCreateInfo buffer = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  buffer.size = 65536;
  buffer.usage = kBufferUsage;
  VkDeviceBufferMemoryRequirements query = {VK_STRUCTURE_TYPE_DEVICE_BUFFER_MEMORY_REQUIREMENTS};
  query.pCreateInfo = &buffer;
  VkMemoryRequirements2 requirements = {VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  vk_.vkGetDeviceBufferMemoryRequirements(device_, &query, &requirements);
  allowed_memory_types_ = requirements.memoryRequirements.memoryTypeBits;
}

DeviceImpl::~DeviceImpl() {
  Drain();
  vk_.vkDestroyDevice(device_, nullptr);
}

// A lost device has nothing left to wait for, so the result does not matter.
void DeviceImpl::Drain() const { (void)vk_.vkDeviceWaitIdle(device_); }

std::string DeviceImpl::HeapText() const {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 properties = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  const bool has_budget = HasFeature(description_, "memory_budget");
  if (has_budget) properties.pNext = &budget;
  vkGetPhysicalDeviceMemoryProperties2(physical_, &properties);
  std::string text;
  for (uint32_t i = 0; i < properties.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = properties.memoryProperties.memoryHeaps[i];
    absl::StrAppend(&text, "heap ", i,
                    (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) ? " (device)" : " (host)", ": ",
                    HumanBytes(heap.size));
    if (has_budget) {
      absl::StrAppend(&text, ", budget ", HumanBytes(budget.heapBudget[i]), ", in use ",
                      HumanBytes(budget.heapUsage[i]));
    }
    text += '\n';
  }
  return text;
}

std::string DeviceImpl::FaultText() const {
  if (!HasFeature(description_, "device_fault") || vk_.vkGetDeviceFaultInfoEXT == nullptr) {
    return "";
  }
  VkDeviceFaultCountsEXT counts = {VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT};
  if (vk_.vkGetDeviceFaultInfoEXT(device_, &counts, nullptr) < 0) return "";
  std::vector<VkDeviceFaultAddressInfoEXT> addresses(counts.addressInfoCount);
  std::vector<VkDeviceFaultVendorInfoEXT> vendor(counts.vendorInfoCount);
  counts.vendorBinarySize = 0;
  VkDeviceFaultInfoEXT info = {VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT};
  info.pAddressInfos = addresses.data();
  info.pVendorInfos = vendor.data();
  if (vk_.vkGetDeviceFaultInfoEXT(device_, &counts, &info) < 0) return "";
  std::string text = info.description;
  for (const VkDeviceFaultAddressInfoEXT& address : addresses) {
    absl::StrAppend(&text, "; fault of type ", static_cast<int>(address.addressType),
                    " at address 0x", absl::Hex(address.reportedAddress));
  }
  for (const VkDeviceFaultVendorInfoEXT& entry : vendor) {
    absl::StrAppend(&text, "; ", entry.description);
  }
  return text;
}

}  // namespace oa::exec
