// Frame: what one replay in flight owns. Plain data with owning members; not thread-safe.
#ifndef OA_EXECUTOR_FRAME_H_
#define OA_EXECUTOR_FRAME_H_

#include <cstdint>
#include <vector>

#include "executor/memory.h"

namespace oa::exec {

enum class FrameState : uint8_t {
  kFree,       // nothing to wait for
  kSubmitted,  // on the device
  kFinished,   // done, outputs not yet returned
};

struct Frame {
  std::vector<DeviceBuffer> io;  // by arena; only io arenas have one
  DeviceBuffer arguments;
  std::vector<DeviceBuffer> upload;       // empty unless inputs are staged
  std::vector<DeviceBuffer> readback;     // empty unless outputs are staged
  Handle<VkQueryPool> queries;            // two a dispatch; empty without timestamps
  std::vector<VkCommandBuffer> commands;  // one a SubmitChunk
  FrameState state = FrameState::kFree;
  uint64_t ticket = 0;  // of the replay it holds or held last; 0: none yet
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_FRAME_H_
