// Prune: which nodes a replay needs.
#ifndef OA_IR_PASSES_PRUNE_H_
#define OA_IR_PASSES_PRUNE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace oa::ir {

// The nodes that named outputs or writes to persistent storages depend on, in execution order.
// FailedPrecondition when the graph has no such order.
absl::StatusOr<std::vector<NodeId>> Prune(const Graph& graph);

// One line a node that was kept; stable.
std::string DumpNodes(const Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_PRUNE_H_
