#include "ir/graph_io.h"

#include <utility>

#include "ir/graph_load.h"
#include "ir/graph_tables.h"
#include "schema/container.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"

namespace oa::ir {

std::vector<uint8_t> SerializeGraph(const Graph& graph) { return SerializeTables(TablesOf(graph)); }

absl::Status SaveGraph(const Graph& graph, const std::string& path) {
  return WriteTables(TablesOf(graph), path);
}

absl::StatusOr<Graph> ParseGraph(Blob file, const std::string& name) {
  OA_ASSIGN_OR_RETURN(const ContainerReader container,
                      ContainerReader::Parse(FileKind::kGraph, std::move(file), name));
  OA_ASSIGN_OR_RETURN(GraphTables tables, ReadTables(container));
  return GraphLoader(std::move(tables), name).Load();
}

absl::StatusOr<Graph> LoadGraph(const std::string& path) {
  OA_ASSIGN_OR_RETURN(Blob file, ReadFile(path));
  return ParseGraph(std::move(file), path);
}

}  // namespace oa::ir
