// The global memory barriers the executor uses; there are no others. Stateless.
#ifndef OA_EXECUTOR_BARRIER_H_
#define OA_EXECUTOR_BARRIER_H_

#include "volk.h"

namespace oa::exec {

inline void MemoryBarrier(const VolkDeviceTable& vk, VkCommandBuffer commands,
                          VkPipelineStageFlags2 source_stages, VkAccessFlags2 source_access,
                          VkPipelineStageFlags2 target_stages, VkAccessFlags2 target_access) {
  VkMemoryBarrier2 barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2};
  barrier.srcStageMask = source_stages;
  barrier.srcAccessMask = source_access;
  barrier.dstStageMask = target_stages;
  barrier.dstAccessMask = target_access;
  VkDependencyInfo dependency = {VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
  dependency.memoryBarrierCount = 1;
  dependency.pMemoryBarriers = &barrier;
  vk.vkCmdPipelineBarrier2(commands, &dependency);
}

// Everything before, including earlier submits to the queue, happens before everything after.
inline void FullBarrier(const VolkDeviceTable& vk, VkCommandBuffer commands) {
  MemoryBarrier(vk, commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT,
                VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT);
}

// Between two stages of a plan.
inline void StageBarrier(const VolkDeviceTable& vk, VkCommandBuffer commands) {
  MemoryBarrier(vk, commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT,
                VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT);
}

// Makes device writes readable by a host that has waited for the submit.
inline void HostReadBarrier(const VolkDeviceTable& vk, VkCommandBuffer commands) {
  MemoryBarrier(vk, commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT,
                VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
}

}  // namespace oa::exec

#endif  // OA_EXECUTOR_BARRIER_H_
