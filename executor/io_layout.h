// Where named inputs and outputs lie, and whether they pass through a staging buffer. Pure.
#ifndef OA_EXECUTOR_IO_LAYOUT_H_
#define OA_EXECUTOR_IO_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "executor/session.h"
#include "schema/plan.h"

namespace oa::exec {

struct IoBinding {
  std::string name;
  uint32_t arena = 0;
  uint64_t offset = 0;  // in the arena
  uint64_t size_bytes = 0;
  bool staged = false;
  uint32_t staging_buffer = 0;  // which upload or readback buffer; staged only
  uint64_t staging_offset = 0;  // in that buffer
};

struct IoLayout {
  std::vector<IoBinding> inputs;         // in the order of Plan::inputs
  std::vector<IoBinding> outputs;        // in the order of Plan::outputs
  std::vector<uint64_t> upload_bytes;    // of each upload buffer; empty: none needed
  std::vector<uint64_t> readback_bytes;  // of each readback buffer
};

// A staging buffer holds `max_staging_bytes`, or one value that is larger than that.
// Pre-condition: VerifyPlan accepted the plan, so inputs and outputs lie in io arenas.
IoLayout LayoutIo(const Plan& plan, bool stage_inputs, bool stage_outputs,
                  uint64_t max_staging_bytes);

// Bytes of all io arenas of one frame.
uint64_t IoArenaBytes(const Plan& plan);

// InvalidArgument that names the input which is missing, unknown or of a wrong size.
absl::Status CheckInputs(const Plan& plan, const InputMap& inputs);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_IO_LAYOUT_H_
