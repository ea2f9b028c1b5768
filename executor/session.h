// Session: the persistent state of one running program and its recorded command buffers.
#ifndef OA_EXECUTOR_SESSION_H_
#define OA_EXECUTOR_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/program.h"

namespace oa::exec {

// Bytes by input or output name.
using TensorMap = absl::flat_hash_map<std::string, std::vector<uint8_t>>;
using InputMap = absl::flat_hash_map<std::string, absl::Span<const uint8_t>>;

struct SessionOptions {
  uint32_t frames_in_flight = 2;  // replays that may be submitted and not yet waited for
  bool timestamps = false;        // measure every dispatch, see profile()
  // Tests: fill transient arenas with NaN before every replay.
  bool poison_transients = false;
  // Tests: fill all bytes that belong to no buffer with a pattern and verify it after every Wait.
  bool check_guards = false;
  // Tests: move all data through staging buffers, as on a discrete GPU.
  bool stage_everything = false;
  // Tests: the most bytes of a staging buffer; 0: as many as the device allocates at once.
  uint64_t max_staging_bytes = 0;
  // A command buffer is cut into several submits so that none is expected to take longer.
  double max_submit_ms = 250;
};

// Times of one dispatch, summed over the replays measured so far.
struct DispatchTime {
  uint32_t dispatch = 0;  // index into Plan::dispatches
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t last_start_ns = 0;  // of the latest replay, relative to its first dispatch
  uint64_t last_end_ns = 0;
};

// Not thread-safe. The program must outlive it.
class Session {
 public:
  // Allocates the arenas and puts every persistent buffer into its initial state.
  // ResourceExhausted with MemoryReport and the heap budget when memory does not suffice.
  static absl::StatusOr<std::unique_ptr<Session>> Create(Program& program,
                                                         const SessionOptions& options = {});
  virtual ~Session() = default;

  // Submits one replay and returns its ticket without waiting for it. All inputs must be given,
  // each with exactly its size in bytes: InvalidArgument names the one that is missing, unknown or
  // of a wrong size, and nothing is submitted. Blocks only while `frames_in_flight` replays are
  // unfinished.
  virtual absl::StatusOr<uint64_t> Submit(const InputMap& inputs) = 0;

  // Waits for the replay and returns its outputs. Every ticket is waited for at most once, in any
  // order, and before `frames_in_flight` further submits.
  virtual absl::StatusOr<TensorMap> Wait(uint64_t ticket) = 0;

  // Submit + Wait.
  virtual absl::StatusOr<TensorMap> Run(const InputMap& inputs) = 0;

  // Content of a parameter, state or constant after all submitted replays.
  virtual absl::StatusOr<std::vector<uint8_t>> ReadPersistent(const std::string& name) = 0;

  // Replaces the content of a parameter or state before the next replay.
  virtual absl::Status WritePersistent(const std::string& name,
                                       absl::Span<const uint8_t> bytes) = 0;

  // Puts every persistent buffer back into its initial state.
  virtual absl::Status Reset() = 0;

  // One entry a dispatch, in plan order; empty without SessionOptions::timestamps.
  virtual std::vector<DispatchTime> profile() const = 0;
};

}  // namespace oa::exec

#endif  // OA_EXECUTOR_SESSION_H_
