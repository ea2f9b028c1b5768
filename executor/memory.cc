#include "executor/memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "executor/memory_report.h"
#include "schema/checked_math.h"

namespace oa::exec {
namespace {

// Smallest buffer: an empty one would be invalid. Also the granularity, so that fills and
// comparisons work in whole words.
constexpr uint64_t kMinBytes = 256;

}  // namespace

absl::StatusOr<DeviceBuffer> DeviceBuffer::Create(DeviceImpl& device, uint64_t size_bytes,
                                                  MemoryUse use, absl::string_view what) {
  const uint64_t limit = device.info().profile.max_allocation_bytes;
  if (size_bytes > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " needs ", HumanBytes(size_bytes), " and the device allocates at most ",
                     HumanBytes(limit), " at once; compile the plan for this device"));
  }
  DeviceBuffer result;
  result.device_ = &device;
  result.size_bytes_ = AlignUp(std::max(size_bytes, kMinBytes), kMinBytes);
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = result.size_bytes_;
  info.usage = kBufferUsage;
  OA_ASSIGN_OR_RETURN(result.buffer_, OA_VK_CREATE(device, Buffer, what, info));
  OA_RETURN_IF_ERROR(result.Allocate(use, what));
  return result;
}

absl::Status DeviceBuffer::Allocate(MemoryUse use, absl::string_view what) {
  const VolkDeviceTable& vk = device_->vk();
  VkMemoryRequirements requirements;
  vk.vkGetBufferMemoryRequirements(device_->handle(), buffer_.get(), &requirements);
  const MemoryTypeInfo& type = device_->memory().types[use.type];
  const uint64_t heap_bytes = device_->memory().heaps[type.heap].size_bytes;
  if (requirements.size > heap_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " needs ", HumanBytes(requirements.size),
                                                     " and heap ", type.heap, " has ",
                                                     HumanBytes(heap_bytes)));
  }
  VkMemoryAllocateFlagsInfo flags = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.pNext = &flags;
  info.allocationSize = requirements.size;
  info.memoryTypeIndex = use.type;
  const std::string named = absl::StrCat(what, " (", HumanBytes(requirements.size), ")");
  OA_ASSIGN_OR_RETURN(memory_,
                      CreateHandle<VkDeviceMemory>(*device_, "vkAllocateMemory", named,
                                                   vk.vkAllocateMemory, vk.vkFreeMemory, info));
  allocated_bytes_ = requirements.size;
  OA_RETURN_IF_ERROR(OA_VK_CALL(*device_, vkBindBufferMemory, what, device_->handle(),
                                buffer_.get(), memory_.get(), 0));
  VkBufferDeviceAddressInfo address = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = buffer_.get();
  address_ = vk.vkGetBufferDeviceAddress(device_->handle(), &address);

  if (!use.mapped) return absl::OkStatus();
  coherent_ = (type.flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
  void* host = nullptr;
  OA_RETURN_IF_ERROR(OA_VK_CALL(*device_, vkMapMemory, what, device_->handle(), memory_.get(), 0,
                                VK_WHOLE_SIZE, 0, &host));
  host_ = static_cast<uint8_t*>(host);
  return absl::OkStatus();
}

// The range widened to the device's atoms, as the specification demands.
VkMappedMemoryRange DeviceBuffer::AtomRange(uint64_t offset, uint64_t size) const {
  const uint64_t atom = device_->limits().non_coherent_atom_bytes;
  const uint64_t begin = offset / atom * atom;
  const uint64_t end = AlignUp(offset + size, atom);
  VkMappedMemoryRange range = {VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE};
  range.memory = memory_.get();
  range.offset = begin;
  range.size = end >= allocated_bytes_ ? VK_WHOLE_SIZE : end - begin;
  return range;
}

absl::Status DeviceBuffer::Flush(uint64_t offset, uint64_t size) const {
  if (coherent_ || size == 0) return absl::OkStatus();
  const VkMappedMemoryRange range = AtomRange(offset, size);
  return OA_VK_CALL(*device_, vkFlushMappedMemoryRanges, "a mapped buffer", device_->handle(), 1,
                    &range);
}

absl::Status DeviceBuffer::Invalidate(uint64_t offset, uint64_t size) const {
  if (coherent_ || size == 0) return absl::OkStatus();
  const VkMappedMemoryRange range = AtomRange(offset, size);
  return OA_VK_CALL(*device_, vkInvalidateMappedMemoryRanges, "a mapped buffer", device_->handle(),
                    1, &range);
}

}  // namespace oa::exec
