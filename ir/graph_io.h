// Reading and writing .oag files. Load is the only way in and always verifies: container, digest,
// flatbuffer, then every node again through the operator table.
#ifndef OA_IR_GRAPH_IO_H_
#define OA_IR_GRAPH_IO_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "schema/blob.h"

namespace oa::ir {

// Deterministic: recording the same program again gives the same bytes.
std::vector<uint8_t> SerializeGraph(const Graph& graph);
absl::Status SaveGraph(const Graph& graph, const std::string& path);

// DataLoss naming file, table and index for anything damaged; InvalidArgument for a graph that
// breaks an operator's rules; both before any large allocation.
absl::StatusOr<Graph> ParseGraph(Blob file, const std::string& name);
absl::StatusOr<Graph> LoadGraph(const std::string& path);

}  // namespace oa::ir

#endif  // OA_IR_GRAPH_IO_H_
