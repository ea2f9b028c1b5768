#include "executor/record.h"

#include "executor/barrier.h"
#include "executor/guards.h"
#include "schema/status_macros.h"

namespace oa::exec {
namespace {

// NaN as f32 and as bf16, an impossible index as i32 and u32.
constexpr uint32_t kPoisonWord = 0xFFFFFFFF;
constexpr char kWhat[] = "the commands of a replay";

class Recorder {
 public:
  Recorder(const RecordInputs& inputs, const Frame& frame)
      : inputs_(inputs),
        frame_(frame),
        plan_(inputs.program.plan()),
        device_(inputs.program.device()),
        vk_(device_.vk()) {}

  absl::Status Record(size_t chunk);

 private:
  void Prologue();
  void PoisonTransients();
  void Stage(const StageSlice& slice);
  void Dispatches(const StageSlice& slice);
  void Timestamp(uint32_t query);
  void Epilogue();
  const DeviceBuffer& Arena(uint32_t arena) const {
    const bool io = plan_.arenas[arena].kind == ArenaKind::kIo;
    return io ? frame_.io[arena] : inputs_.arenas[arena];
  }

  const RecordInputs& inputs_;
  const Frame& frame_;
  const Plan& plan_;
  DeviceImpl& device_;
  const VolkDeviceTable& vk_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkPipeline bound_ = VK_NULL_HANDLE;
};

absl::Status Recorder::Record(size_t chunk) {
  commands_ = frame_.commands[chunk];
  bound_ = VK_NULL_HANDLE;
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  OA_RETURN_IF_ERROR(OA_VK_CALL(device_, vkBeginCommandBuffer, kWhat, commands_, &begin));
  // Orders this chunk after the one before it, which may be the end of the previous replay: all
  // replays share the transient and persistent arenas.
  FullBarrier(vk_, commands_);
  if (chunk == 0) Prologue();
  const std::vector<StageSlice>& slices = inputs_.chunks[chunk].slices;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (i != 0) StageBarrier(vk_, commands_);
    Stage(slices[i]);
  }
  if (chunk + 1 == inputs_.chunks.size()) Epilogue();
  return OA_VK_CALL(device_, vkEndCommandBuffer, kWhat, commands_);
}

void Recorder::Prologue() {
  if (frame_.queries) {
    vk_.vkCmdResetQueryPool(commands_, frame_.queries.get(), 0,
                            2 * static_cast<uint32_t>(plan_.dispatches.size()));
  }
  bool wrote = inputs_.poison_transients;
  if (inputs_.poison_transients) PoisonTransients();
  for (const IoBinding& input : inputs_.io.inputs) {
    if (!input.staged) continue;
    const VkBufferCopy copy = {input.staging_offset, input.offset, input.size_bytes};
    vk_.vkCmdCopyBuffer(commands_, frame_.upload[input.staging_buffer].buffer(),
                        Arena(input.arena).buffer(), 1, &copy);
    wrote = true;
  }
  if (wrote) FullBarrier(vk_, commands_);
}

// Only what buffers cover: the bytes between them are guards.
void Recorder::PoisonTransients() {
  for (uint32_t arena = 0; arena < plan_.arenas.size(); ++arena) {
    if (plan_.arenas[arena].kind != ArenaKind::kTransient) continue;
    for (const ByteRange& range : CoveredRanges(plan_, arena)) {
      vk_.vkCmdFillBuffer(commands_, Arena(arena).buffer(), range.offset, range.size, kPoisonWord);
    }
  }
}

void Recorder::Stage(const StageSlice& slice) {
  switch (plan_.stages[slice.stage].kind) {
    case StageKind::kDispatches:
      return Dispatches(slice);
  }
}

void Recorder::Dispatches(const StageSlice& slice) {
  const ArgumentBlocks& blocks = inputs_.program.blocks();
  for (uint32_t i = 0; i < slice.dispatch_count; ++i) {
    const uint32_t dispatch = slice.first_dispatch + i;
    const VkPipeline pipeline = inputs_.program.pipeline(dispatch);
    if (pipeline != bound_) {
      vk_.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      bound_ = pipeline;
    }
    const VkDeviceAddress block = frame_.arguments.address() + blocks.offsets[dispatch];
    vk_.vkCmdPushConstants(commands_, inputs_.program.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           sizeof(block), &block);
    const std::array<uint32_t, 3>& grid = plan_.dispatches[dispatch].grid;
    Timestamp(2 * dispatch);
    vk_.vkCmdDispatch(commands_, grid[0], grid[1], grid[2]);
    Timestamp(2 * dispatch + 1);
  }
}

// Written once the dispatches before it are done, so that the times of a stage add up to its
// duration even where its dispatches overlap.
void Recorder::Timestamp(uint32_t query) {
  if (!frame_.queries) return;
  vk_.vkCmdWriteTimestamp2(commands_, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, frame_.queries.get(),
                           query);
}

void Recorder::Epilogue() {
  if (!inputs_.io.readback_bytes.empty()) {
    FullBarrier(vk_, commands_);
    for (const IoBinding& output : inputs_.io.outputs) {
      if (!output.staged) continue;
      const VkBufferCopy copy = {output.offset, output.staging_offset, output.size_bytes};
      vk_.vkCmdCopyBuffer(commands_, Arena(output.arena).buffer(),
                          frame_.readback[output.staging_buffer].buffer(), 1, &copy);
    }
  }
  HostReadBarrier(vk_, commands_);
}

}  // namespace

absl::Status RecordFrame(const RecordInputs& inputs, Frame& frame) {
  Recorder recorder(inputs, frame);
  for (size_t i = 0; i < inputs.chunks.size(); ++i) {
    OA_RETURN_IF_ERROR(recorder.Record(i));
  }
  return absl::OkStatus();
}

}  // namespace oa::exec
