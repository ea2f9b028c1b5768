// GraphTables: the content of an .oag file as plain data, before anything about it is believed.
// Writing goes Graph -> GraphTables -> bytes, loading the other way round. Internal to ir/; tests
// use it to write graphs that recording would refuse.
#ifndef OA_IR_GRAPH_TABLES_H_
#define OA_IR_GRAPH_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "schema/container.h"

namespace oa::ir {

// A node by operator name. In its attributes the `integer` of a token is the token's number.
struct NodeTable {
  std::string op;
  uint32_t op_version = 0;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Attribute> attributes;
  uint64_t config_identity = 0;
  std::string label;
};

struct GraphTables {
  std::string name;
  std::string producer;
  uint64_t graph_identity = 0;
  std::vector<Storage> storages;  // Storage::version is not stored
  std::vector<Value> values;      // neither is Value::producer
  std::vector<NodeTable> nodes;
  std::vector<NamedValue> inputs;
  std::vector<NamedValue> outputs;
  std::vector<TestVector> test_vectors;
};

GraphTables TablesOf(const Graph& graph);

// The whole file. Deterministic.
std::vector<uint8_t> SerializeTables(const GraphTables& tables);
absl::Status WriteTables(const GraphTables& tables, const std::string& path);

// DataLoss unless the flatbuffer follows its schema, every enum is known and every blob lies in the
// file. Ids are not checked.
absl::StatusOr<GraphTables> ReadTables(const ContainerReader& file);

}  // namespace oa::ir

#endif  // OA_IR_GRAPH_TABLES_H_
