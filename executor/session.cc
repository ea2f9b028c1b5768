#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/session_impl.h"
#include "schema/status_macros.h"

namespace oa::exec {
namespace {

// How many dispatches a report of a lost device lists.
constexpr uint32_t kReported = 8;

}  // namespace

absl::StatusOr<uint64_t> SessionImpl::Submit(const InputMap& inputs) {
  OA_RETURN_IF_ERROR(failure_);
  OA_RETURN_IF_ERROR(CheckInputs(plan_, inputs));
  Frame& frame = frames_[next_frame_];
  if (frame.state == FrameState::kSubmitted) OA_RETURN_IF_ERROR(FinishUpTo(frame.ticket));
  frame.state = FrameState::kFree;
  OA_RETURN_IF_ERROR(WriteInputs(frame, inputs));
  OA_RETURN_IF_ERROR(SubmitChunks(frame));
  frame.ticket = last_value_;
  frame.state = FrameState::kSubmitted;
  next_frame_ = (next_frame_ + 1) % frames_.size();
  return frame.ticket;
}

absl::StatusOr<TensorMap> SessionImpl::Wait(uint64_t ticket) {
  OA_RETURN_IF_ERROR(failure_);
  const auto frame = std::find_if(frames_.begin(), frames_.end(), [&](const Frame& f) {
    return f.state != FrameState::kFree && f.ticket == ticket;
  });
  if (frame == frames_.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ticket ", ticket, " was never given, was already waited for, or is older than the last ",
        frames_.size(), " submits (frames_in_flight)"));
  }
  if (frame->state == FrameState::kSubmitted) OA_RETURN_IF_ERROR(FinishUpTo(ticket));
  frame->state = FrameState::kFree;
  return ReadOutputs(*frame);
}

absl::StatusOr<TensorMap> SessionImpl::Run(const InputMap& inputs) {
  OA_ASSIGN_OR_RETURN(const uint64_t ticket, Submit(inputs));
  return Wait(ticket);
}

absl::Status SessionImpl::WriteInputs(const Frame& frame, const InputMap& inputs) {
  for (const IoBinding& binding : io_.inputs) {
    if (binding.size_bytes == 0) continue;
    const DeviceBuffer& target =
        binding.staged ? frame.upload[binding.staging_buffer] : frame.io[binding.arena];
    const uint64_t offset = binding.staged ? binding.staging_offset : binding.offset;
    std::memcpy(target.Host(offset, binding.size_bytes).data(), inputs.at(binding.name).data(),
                binding.size_bytes);
    OA_RETURN_IF_ERROR(target.Flush(offset, binding.size_bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> SessionImpl::ReadOutputs(const Frame& frame) {
  TensorMap outputs;
  for (const IoBinding& binding : io_.outputs) {
    std::vector<uint8_t>& bytes = outputs[binding.name];
    if (binding.size_bytes == 0) continue;
    const DeviceBuffer& source =
        binding.staged ? frame.readback[binding.staging_buffer] : frame.io[binding.arena];
    const uint64_t offset = binding.staged ? binding.staging_offset : binding.offset;
    OA_RETURN_IF_ERROR(source.Invalidate(offset, binding.size_bytes));
    const absl::Span<const uint8_t> host = source.Host(offset, binding.size_bytes);
    bytes.assign(host.begin(), host.end());
  }
  return outputs;
}

// On success the replay is done when the timeline reaches last_value_.
absl::Status SessionImpl::SubmitChunks(Frame& frame) {
  const bool serialize = device_.options().serialize;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const bool last = i + 1 == chunks_.size();
    const uint64_t value = last || serialize ? last_value_ + 1 : 0;
    absl::Status status = SubmitOne(frame.commands[i], value);
    if (status.ok() && value != 0) last_value_ = value;
    if (status.ok() && serialize) status = WaitValue(value, i);
    if (status.ok()) continue;
    // The first chunk has changed nothing if it was refused; after that, persistent values may be
    // half updated.
    const bool unchanged = i == 0 && !serialize && !absl::IsUnavailable(status);
    status = Explain(status, i);
    if (!unchanged && failure_.ok()) {
      failure_ = absl::FailedPreconditionError(absl::StrCat(
          "the session stopped in the middle of a replay and its parameters are incomplete; "
          "create a new one (the failure was: ",
          status.message(), ")"));
    }
    return status;
  }
  return absl::OkStatus();
}

// Signals the timeline unless `signal_value` is 0.
absl::Status SessionImpl::SubmitOne(VkCommandBuffer commands, uint64_t signal_value) {
  VkCommandBufferSubmitInfo buffer = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO};
  buffer.commandBuffer = commands;
  VkSemaphoreSubmitInfo signal = {VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO};
  signal.semaphore = timeline_.get();
  signal.value = signal_value;
  signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  VkSubmitInfo2 submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
  submit.commandBufferInfoCount = 1;
  submit.pCommandBufferInfos = &buffer;
  submit.signalSemaphoreInfoCount = signal_value != 0 ? 1 : 0;
  submit.pSignalSemaphoreInfos = &signal;
  return OA_VK_CALL(device_, vkQueueSubmit2, "a replay", device_.queue(), 1, &submit,
                    VK_NULL_HANDLE);
}

absl::Status SessionImpl::WaitValue(uint64_t value, size_t chunk) {
  const VkSemaphore semaphore = timeline_.get();
  VkSemaphoreWaitInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &value;
  return Explain(
      OA_VK_CALL(device_, vkWaitSemaphores, "a replay", device_.handle(), &info, UINT64_MAX),
      chunk);
}

// Finishes all replays submitted up to `ticket`, oldest first. The queue runs them in order.
absl::Status SessionImpl::FinishUpTo(uint64_t ticket) {
  for (size_t i = 0; i < frames_.size(); ++i) {
    Frame& frame = frames_[(next_frame_ + i) % frames_.size()];
    if (frame.state != FrameState::kSubmitted || frame.ticket > ticket) continue;
    OA_RETURN_IF_ERROR(Finish(frame));
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::Finish(Frame& frame) {
  OA_RETURN_IF_ERROR(WaitValue(frame.ticket, chunks_.size() - 1));
  frame.state = FrameState::kFinished;
  OA_RETURN_IF_ERROR(CollectTimes(frame));
  return CheckGuards(frame);
}

absl::Status SessionImpl::CollectTimes(const Frame& frame) {
  if (!frame.queries) return absl::OkStatus();
  const uint32_t count = 2 * static_cast<uint32_t>(plan_.dispatches.size());
  std::vector<uint64_t> ticks(count);
  OA_RETURN_IF_ERROR(OA_VK_CALL(device_, vkGetQueryPoolResults, "the times of a replay",
                                device_.handle(), frame.queries.get(), 0, count,
                                count * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
                                VK_QUERY_RESULT_64_BIT));
  profile_.Add(ticks);
  return absl::OkStatus();
}

// Adds to the error of a lost device what was running; other errors pass through.
absl::Status SessionImpl::Explain(const absl::Status& status, size_t chunk) {
  if (!absl::IsUnavailable(status) || !failure_.ok()) return status;
  const std::vector<StageSlice>& slices = chunks_[chunk].slices;
  std::vector<std::string> running;
  for (auto slice = slices.rbegin(); slice != slices.rend(); ++slice) {
    for (uint32_t i = slice->dispatch_count; i > 0 && running.size() < kReported; --i) {
      running.push_back(program_.DispatchText(slice->first_dispatch + i - 1));
    }
  }
  std::string message = absl::StrCat(
      status.message(),
      "; parameters and state on the device are lost, start again from saved "
      "ones; ",
      device_.options().serialize ? "it was lost in: " : "submitted last, newest first: ",
      absl::StrJoin(running, ", "));
  if (!device_.options().serialize) {
    absl::StrAppend(&message,
                    "; run with --serialize (DeviceOptions::serialize) to learn which "
                    "dispatch it was");
  }
  const std::string fault = device_.FaultText();
  if (!fault.empty()) absl::StrAppend(&message, "; the driver reports: ", fault);
  failure_ = absl::FailedPreconditionError(
      absl::StrCat("the device was lost earlier; open it again (", status.message(), ")"));
  return absl::UnavailableError(message);
}

}  // namespace oa::exec
