// Recording a replay into command buffers, once per frame. Stateless.
#ifndef OA_EXECUTOR_RECORD_H_
#define OA_EXECUTOR_RECORD_H_

#include <vector>

#include "absl/status/status.h"
#include "executor/frame.h"
#include "executor/io_layout.h"
#include "executor/program_impl.h"
#include "executor/submit_split.h"

namespace oa::exec {

struct RecordInputs {
  const ProgramImpl& program;
  const IoLayout& io;
  const std::vector<SubmitChunk>& chunks;
  const std::vector<DeviceBuffer>& arenas;  // by arena; io arenas are in the frame
  bool poison_transients = false;
};

// Records frame.commands[i] from chunks[i]. The first starts with uploads, poison and the reset of
// the queries; the last ends with the copies for the host.
absl::Status RecordFrame(const RecordInputs& inputs, Frame& frame);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_RECORD_H_
