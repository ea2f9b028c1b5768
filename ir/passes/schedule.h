// Schedule: dispatches -> stages.
#ifndef OA_IR_PASSES_SCHEDULE_H_
#define OA_IR_PASSES_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace oa::ir {

// Gives every dispatch a stage and sorts the list by it. No two dispatches of a stage conflict; the
// number of stages is the smallest possible; among schedules of that length one with a lower peak
// of transient memory is preferred.
void Schedule(Program& program);

// Largest sum over the stages of the sizes of transients alive in it, for the stages given (one a
// dispatch). A transient lives from the first to the last stage that touches it.
uint64_t PeakTransientBytes(const Program& program, const std::vector<uint32_t>& stages);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_SCHEDULE_H_
