// Which dispatches of an ordered list must keep their order.
#ifndef OA_IR_PASSES_DEPENDENCIES_H_
#define OA_IR_PASSES_DEPENDENCIES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ir/program.h"

namespace oa::ir {

// Edges between dispatches, by position. Enough of them that every conflicting pair is connected by
// a path; pairs that a path already orders may have no edge of their own. Ascending, no duplicates.
struct Dependencies {
  std::vector<std::vector<uint32_t>> before;  // what each dispatch waits for
  std::vector<std::vector<uint32_t>> after;   // what waits for it
};

// Conflicts are byte ranges of buffers: views and in-place versions need no special treatment.
// Near-linear in the number of touches.
Dependencies FindDependencies(absl::Span<const Dispatch> dispatches);

// The earliest stage of each dispatch: the longest path that leads to it.
std::vector<uint32_t> EarliestStages(const Dependencies& dependencies);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_DEPENDENCIES_H_
