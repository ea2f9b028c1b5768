// Schedule: dispatches into stages.
#ifndef OA_IR_PASSES_SCHEDULE_H_
#define OA_IR_PASSES_SCHEDULE_H_

#include "absl/status/status.h"
#include "ir/program.h"

namespace oa::ir {

// Assigns stages and sorts the dispatches by them. No two dispatches of a stage conflict; the
// number of stages is the least possible for the given dispatches.
absl::Status Schedule(Program& program);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_SCHEDULE_H_
