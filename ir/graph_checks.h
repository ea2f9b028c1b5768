// Rules of a call that depend on the graph around it. Shared by recording and loading, so that a
// file can hold nothing that could not have been recorded. Internal to ir/.
#ifndef OA_IR_GRAPH_CHECKS_H_
#define OA_IR_GRAPH_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "ir/op.h"

namespace oa::ir {

// InferResults for `node`, whose operands must be values of `graph`.
absl::StatusOr<std::vector<ResultType>> InferNode(const Graph& graph, const Node& node);

// InvalidArgument unless every mutated operand is the newest version of a storage that may be
// written, and no other operand of the node touches that storage.
absl::Status CheckMutations(const Graph& graph, const Node& node);

// InvalidArgument unless the results that are not wanted are optional and something is left.
// An empty `wanted` asks for all.
absl::Status CheckWanted(const OpDef& op, absl::Span<const ResultType> results,
                         const std::vector<bool>& wanted);

// "'w1'" for a named storage, "%12" otherwise.
std::string ValueText(const Graph& graph, ValueId value);

}  // namespace oa::ir

#endif  // OA_IR_GRAPH_CHECKS_H_
