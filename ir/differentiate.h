// Reverse-mode differentiation as a graph-to-graph transform.
#ifndef OA_IR_DIFFERENTIATE_H_
#define OA_IR_DIFFERENTIATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace oa::ir {

// Records the adjoint nodes of `root` (one element, F32) with respect to `targets` and returns one
// gradient per target; kAbsent when the root does not depend on it. Records only what the targets
// need. Contributions to one value are added in reverse recording order.
// FailedPrecondition, with nothing recorded, when a needed node used a parameter that has been
// overwritten since (ops.md 1.8); Unimplemented when a needed operator has no adjoint;
// InvalidArgument for a root of more than one element.
absl::StatusOr<std::vector<ValueId>> Differentiate(Graph& graph, ValueId root,
                                                   absl::Span<const ValueId> targets);

}  // namespace oa::ir

#endif  // OA_IR_DIFFERENTIATE_H_
