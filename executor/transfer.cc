#include "executor/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "executor/barrier.h"
#include "schema/status_macros.h"

namespace oa::exec {
namespace {

constexpr uint64_t kMaxStagingBytes = uint64_t{64} << 20;
constexpr char kWhat[] = "a transfer";

// One command buffer that is recorded, submitted and waited for, as often as needed.
class OneShot {
 public:
  explicit OneShot(DeviceImpl& device) : device_(device) {}

  absl::Status Initialize() {
    VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool.queueFamilyIndex = device_.queue_family();
    OA_ASSIGN_OR_RETURN(pool_, OA_VK_CREATE(device_, CommandPool, kWhat, pool));
    VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    OA_ASSIGN_OR_RETURN(fence_, OA_VK_CREATE(device_, Fence, kWhat, fence));
    VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_.get();
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    return OA_VK_CALL(device_, vkAllocateCommandBuffers, kWhat, device_.handle(), &info,
                      &commands_);
  }

  absl::StatusOr<VkCommandBuffer> Begin() {
    OA_RETURN_IF_ERROR(
        OA_VK_CALL(device_, vkResetCommandPool, kWhat, device_.handle(), pool_.get(), 0));
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    OA_RETURN_IF_ERROR(OA_VK_CALL(device_, vkBeginCommandBuffer, kWhat, commands_, &begin));
    FullBarrier(device_.vk(), commands_);
    return commands_;
  }

  absl::Status SubmitAndWait() {
    HostReadBarrier(device_.vk(), commands_);
    OA_RETURN_IF_ERROR(OA_VK_CALL(device_, vkEndCommandBuffer, kWhat, commands_));
    VkCommandBufferSubmitInfo buffer = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO};
    buffer.commandBuffer = commands_;
    VkSubmitInfo2 submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
    submit.commandBufferInfoCount = 1;
    submit.pCommandBufferInfos = &buffer;
    OA_RETURN_IF_ERROR(
        OA_VK_CALL(device_, vkQueueSubmit2, kWhat, device_.queue(), 1, &submit, fence_.get()));
    const VkFence fence = fence_.get();
    const absl::Status waited = OA_VK_CALL(device_, vkWaitForFences, kWhat, device_.handle(), 1,
                                           &fence, VK_TRUE, UINT64_MAX);
    // The staging buffer and the pool are destroyed on the way out, so nothing may still run.
    if (!waited.ok()) device_.Drain();
    OA_RETURN_IF_ERROR(waited);
    return OA_VK_CALL(device_, vkResetFences, kWhat, device_.handle(), 1, &fence);
  }

 private:
  DeviceImpl& device_;
  Handle<VkCommandPool> pool_;
  Handle<VkFence> fence_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

// A part of region `region`, starting `skip` bytes into it, with its place in the staging buffer.
struct Piece {
  size_t region = 0;
  uint64_t skip = 0;
  uint64_t staging_offset = 0;
  uint64_t size = 0;
};

// The unmapped regions cut into batches that each fit the staging buffer.
template <class Region>
std::vector<std::vector<Piece>> CutIntoBatches(absl::Span<const Region> regions) {
  std::vector<std::vector<Piece>> batches;
  uint64_t used = kMaxStagingBytes;
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].buffer->mapped()) continue;
    for (uint64_t skip = 0; skip < regions[i].bytes.size();) {
      if (used >= kMaxStagingBytes) {
        batches.emplace_back();
        used = 0;
      }
      const uint64_t size = std::min(regions[i].bytes.size() - skip, kMaxStagingBytes - used);
      batches.back().push_back({i, skip, used, size});
      skip += size;
      used += (size + 15) & ~uint64_t{15};
    }
  }
  return batches;
}

uint64_t StagingBytes(const std::vector<std::vector<Piece>>& batches) {
  const Piece& last = batches.front().back();
  return last.staging_offset + last.size;
}

}  // namespace

absl::Status Upload(DeviceImpl& device, MemoryUse staging_use,
                    absl::Span<const UploadRegion> regions) {
  for (const UploadRegion& region : regions) {
    if (!region.buffer->mapped() || region.bytes.empty()) continue;
    std::memcpy(region.buffer->Host(region.offset, region.bytes.size()).data(), region.bytes.data(),
                region.bytes.size());
    OA_RETURN_IF_ERROR(region.buffer->Flush(region.offset, region.bytes.size()));
  }
  const std::vector<std::vector<Piece>> batches = CutIntoBatches(regions);
  if (batches.empty()) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(DeviceBuffer staging, DeviceBuffer::Create(device, StagingBytes(batches),
                                                                 staging_use, "upload staging"));
  OneShot shot(device);
  OA_RETURN_IF_ERROR(shot.Initialize());
  for (const std::vector<Piece>& batch : batches) {
    OA_ASSIGN_OR_RETURN(VkCommandBuffer commands, shot.Begin());
    for (const Piece& piece : batch) {
      const UploadRegion& region = regions[piece.region];
      std::memcpy(staging.Host(piece.staging_offset, piece.size).data(),
                  region.bytes.data() + piece.skip, piece.size);
      const VkBufferCopy copy = {piece.staging_offset, region.offset + piece.skip, piece.size};
      device.vk().vkCmdCopyBuffer(commands, staging.buffer(), region.buffer->buffer(), 1, &copy);
    }
    OA_RETURN_IF_ERROR(staging.Flush(0, staging.size_bytes()));
    OA_RETURN_IF_ERROR(shot.SubmitAndWait());
  }
  return absl::OkStatus();
}

absl::Status Fill(DeviceImpl& device, absl::Span<const FillRegion> regions) {
  bool any_unmapped = false;
  for (const FillRegion& region : regions) {
    if (!region.buffer->mapped()) {
      any_unmapped = true;
      continue;
    }
    const absl::Span<uint8_t> host = region.buffer->Host(region.offset, region.size);
    uint32_t* words = reinterpret_cast<uint32_t*>(host.data());
    std::fill(words, words + host.size() / sizeof(uint32_t), region.word);
    OA_RETURN_IF_ERROR(region.buffer->Flush(region.offset, region.size));
  }
  if (!any_unmapped) return absl::OkStatus();
  OneShot shot(device);
  OA_RETURN_IF_ERROR(shot.Initialize());
  OA_ASSIGN_OR_RETURN(VkCommandBuffer commands, shot.Begin());
  for (const FillRegion& region : regions) {
    if (region.buffer->mapped() || region.size == 0) continue;
    device.vk().vkCmdFillBuffer(commands, region.buffer->buffer(), region.offset, region.size,
                                region.word);
  }
  return shot.SubmitAndWait();
}

absl::Status Download(DeviceImpl& device, MemoryUse staging_use,
                      absl::Span<const DownloadRegion> regions) {
  for (const DownloadRegion& region : regions) {
    if (!region.buffer->mapped() || region.bytes.empty()) continue;
    OA_RETURN_IF_ERROR(region.buffer->Invalidate(region.offset, region.bytes.size()));
    std::memcpy(region.bytes.data(), region.buffer->Host(region.offset, region.bytes.size()).data(),
                region.bytes.size());
  }
  const std::vector<std::vector<Piece>> batches = CutIntoBatches(regions);
  if (batches.empty()) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(DeviceBuffer staging, DeviceBuffer::Create(device, StagingBytes(batches),
                                                                 staging_use, "download staging"));
  OneShot shot(device);
  OA_RETURN_IF_ERROR(shot.Initialize());
  for (const std::vector<Piece>& batch : batches) {
    OA_ASSIGN_OR_RETURN(VkCommandBuffer commands, shot.Begin());
    for (const Piece& piece : batch) {
      const DownloadRegion& region = regions[piece.region];
      const VkBufferCopy copy = {region.offset + piece.skip, piece.staging_offset, piece.size};
      device.vk().vkCmdCopyBuffer(commands, region.buffer->buffer(), staging.buffer(), 1, &copy);
    }
    OA_RETURN_IF_ERROR(shot.SubmitAndWait());
    OA_RETURN_IF_ERROR(staging.Invalidate(0, staging.size_bytes()));
    for (const Piece& piece : batch) {
      std::memcpy(regions[piece.region].bytes.data() + piece.skip,
                  staging.Host(piece.staging_offset, piece.size).data(), piece.size);
    }
  }
  return absl::OkStatus();
}

}  // namespace oa::exec
