// SessionImpl: arenas, frames and the timeline of one running program. Not thread-safe.
// session.cc replays; session_state.cc allocates and moves persistent values.
#ifndef OA_EXECUTOR_SESSION_IMPL_H_
#define OA_EXECUTOR_SESSION_IMPL_H_

#include <string>
#include <vector>

#include "executor/frame.h"
#include "executor/guards.h"
#include "executor/io_layout.h"
#include "executor/memory_policy.h"
#include "executor/profile.h"
#include "executor/program_impl.h"
#include "executor/session.h"
#include "executor/submit_split.h"
#include "executor/transfer.h"

namespace oa::exec {

class SessionImpl final : public Session {
 public:
  SessionImpl(ProgramImpl& program, const SessionOptions& options);
  ~SessionImpl() override;

  absl::Status Initialize();

  absl::StatusOr<uint64_t> Submit(const InputMap& inputs) override;
  absl::StatusOr<TensorMap> Wait(uint64_t ticket) override;
  absl::StatusOr<TensorMap> Run(const InputMap& inputs) override;
  absl::StatusOr<std::vector<uint8_t>> ReadPersistent(const std::string& name) override;
  absl::Status WritePersistent(const std::string& name, absl::Span<const uint8_t> bytes) override;
  absl::Status Reset() override;
  std::vector<DispatchTime> profile() const override { return profile_.times(); }

 private:
  struct Guard {
    uint32_t arena = 0;
    ByteRange range;
  };

  // session_state.cc
  absl::Status CheckOptions() const;
  absl::Status CreateTimeline();
  absl::StatusOr<DeviceBuffer> CreateArena(uint32_t arena, MemoryUse use) const;
  absl::Status CreateArenas();
  absl::Status CreateStaging(absl::Span<const uint64_t> sizes, MemoryUse use,
                             absl::string_view what, std::vector<DeviceBuffer>& buffers) const;
  absl::Status CreateFrame(Frame& frame);
  absl::Status CreateCommands(Frame& frame);
  absl::Status WriteArguments(Frame& frame);
  absl::Status FillGuards();
  absl::Status CheckGuards(const Frame& frame);
  absl::Status InitializePersistent();
  absl::StatusOr<const PlanBuffer*> FindPersistent(const std::string& name) const;
  const DeviceBuffer& Arena(const Frame& frame, uint32_t arena) const {
    return plan_.arenas[arena].kind == ArenaKind::kIo ? frame.io[arena] : arenas_[arena];
  }

  // session.cc
  absl::Status WriteInputs(const Frame& frame, const InputMap& inputs);
  absl::StatusOr<TensorMap> ReadOutputs(const Frame& frame);
  absl::Status SubmitChunks(Frame& frame);
  absl::Status SubmitOne(VkCommandBuffer commands, uint64_t signal_value);
  absl::Status WaitValue(uint64_t value, size_t chunk);
  absl::Status FinishUpTo(uint64_t ticket);
  absl::Status Finish(Frame& frame);
  absl::Status CollectTimes(const Frame& frame);
  absl::Status Explain(const absl::Status& status, size_t chunk);

  ProgramImpl& program_;
  DeviceImpl& device_;
  const Plan& plan_;
  const SessionOptions options_;

  MemoryPolicy memory_;
  IoLayout io_;
  std::vector<SubmitChunk> chunks_;
  std::vector<Guard> guards_;
  Profile profile_;

  Handle<VkSemaphore> timeline_;
  std::vector<DeviceBuffer> arenas_;  // by arena; io arenas are in the frames
  std::vector<Frame> frames_;
  Handle<VkCommandPool> pool_;  // declared last: goes before what its commands refer to
  size_t next_frame_ = 0;       // the one submitted longest ago, which is used next
  uint64_t last_value_ = 0;     // of the timeline, signalled or about to be
  absl::Status failure_;        // set once the device state is unknown
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_SESSION_IMPL_H_
