#include "ir/graph_tables.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ir/op.h"
#include "schema/flatbuffer_io.h"
#include "schema/graph_generated.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr char kProducer[] = "oa 0.1.0";

// ---- Writing ----

NodeTable TableOf(const Node& node) {
  NodeTable table = {node.op->name,        node.op->version, node.inputs, node.outputs, {},
                     node.config_identity, node.label};
  for (size_t i = 0; i < node.attributes.all().size(); ++i) {
    Attribute attribute = node.attributes.all()[i];
    if (attribute.kind == AttributeKind::kToken) {
      const std::vector<std::string>& tokens = node.op->attributes[i].tokens;
      attribute.integer = absl::c_find(tokens, attribute.token) - tokens.begin();
    }
    table.attributes.push_back(std::move(attribute));
  }
  return table;
}

Offset<fbs::Attribute> StoreAttribute(FlatBufferBuilder& builder, const Attribute& a) {
  const bool optional = a.kind == AttributeKind::kOptionalI64;
  std::vector<int64_t> integers = a.integers;
  if (optional && a.present) integers = {a.integer};
  const auto name = builder.CreateString(a.name);
  const auto token = a.token.empty() ? 0 : builder.CreateString(a.token);
  const auto list = integers.empty() ? 0 : builder.CreateVector(integers);
  return fbs::CreateAttribute(builder, name, static_cast<uint8_t>(a.kind),
                              optional ? (a.present ? 1 : 0) : a.integer, a.real, token, list);
}

Offset<fbs::Storage> StoreStorage(FlatBufferBuilder& builder, ContainerWriter& writer,
                                  const Storage& s) {
  const auto name = builder.CreateString(s.name);
  const auto data = StoreBlob(builder, writer, s.data);
  const auto initialiser = builder.CreateString(s.initialiser);
  return fbs::CreateStorage(builder, name, static_cast<uint8_t>(s.kind), s.size_bytes,
                            static_cast<uint8_t>(s.init), s.fill_bits, data, initialiser);
}

Offset<fbs::Value> StoreValue(FlatBufferBuilder& builder, const Value& v) {
  const auto name = builder.CreateString(v.name);
  const auto shape = builder.CreateVector(v.shape.data(), v.shape.size());
  return fbs::CreateValue(builder, name, static_cast<uint8_t>(v.dtype), shape,
                          static_cast<uint32_t>(v.storage), v.version);
}

Offset<fbs::Node> StoreNode(FlatBufferBuilder& builder, const NodeTable& n) {
  const auto op = builder.CreateString(n.op);
  const auto inputs = builder.CreateVector(n.inputs);
  const auto outputs = builder.CreateVector(n.outputs);
  const auto attributes = TableVector<fbs::Attribute>(
      builder, n.attributes, [&](const Attribute& a) { return StoreAttribute(builder, a); });
  const auto label = builder.CreateString(n.label);
  return fbs::CreateNode(builder, op, n.op_version, inputs, outputs, attributes, n.config_identity,
                         label);
}

Offset<flatbuffers::Vector<Offset<fbs::NamedValue>>> StoreNamed(
    FlatBufferBuilder& builder, const std::vector<NamedValue>& list) {
  return TableVector<fbs::NamedValue>(builder, list, [&](const NamedValue& named) {
    const auto name = builder.CreateString(named.name);
    return fbs::CreateNamedValue(builder, name, static_cast<uint32_t>(named.value));
  });
}

void StoreGraph(FlatBufferBuilder& builder, ContainerWriter& writer, const GraphTables& t) {
  const auto name = builder.CreateString(t.name);
  const auto producer = builder.CreateString(t.producer);
  const auto storages = TableVector<fbs::Storage>(
      builder, t.storages, [&](const Storage& s) { return StoreStorage(builder, writer, s); });
  const auto values = TableVector<fbs::Value>(
      builder, t.values, [&](const Value& v) { return StoreValue(builder, v); });
  const auto nodes = TableVector<fbs::Node>(
      builder, t.nodes, [&](const NodeTable& n) { return StoreNode(builder, n); });
  const auto inputs = StoreNamed(builder, t.inputs);
  const auto outputs = StoreNamed(builder, t.outputs);
  const auto vectors = StoreTestVectors(builder, writer, t.test_vectors);
  fbs::FinishGraphBuffer(
      builder, fbs::CreateGraph(builder, name, producer, t.graph_identity, storages, values, nodes,
                                inputs, outputs, vectors));
}

// ---- Reading ----

// Calls `read` for each table of the vector and collects the results.
template <class T, class Read>
auto ReadAll(FieldReader& reader, const char* name, const flatbuffers::Vector<Offset<T>>* tables,
             Read read) {
  std::vector<decltype(read(reader, *tables->Get(0)))> result;
  const size_t count = reader.Count(tables);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    reader.Enter(name, i);
    result.push_back(read(reader, *tables->Get(static_cast<flatbuffers::uoffset_t>(i))));
  }
  return result;
}

Storage ReadStorage(FieldReader& reader, const fbs::Storage& table) {
  Storage storage;
  storage.name = reader.Text(table.name());
  storage.kind = reader.Enum(table.kind(), BufferKind::kConstant, "kind");
  storage.size_bytes = table.size_bytes();
  storage.init = reader.Enum(table.init(), InitKind::kData, "init");
  storage.fill_bits = table.fill_bits();
  storage.data = reader.Data(table.data(), "data");
  storage.initialiser = reader.Text(table.initialiser());
  return storage;
}

Value ReadValue(FieldReader& reader, const fbs::Value& table) {
  Value value;
  value.name = reader.Text(table.name());
  value.dtype = reader.Type(table.dtype());
  value.shape = reader.Extents(table.shape());
  // An id that does not fit becomes negative, which the loader refuses.
  value.storage = static_cast<StorageId>(table.storage());
  value.version = table.version();
  return value;
}

// Presence comes in `integer`, the value of an optional in `integers`.
void DecodeOptional(FieldReader& reader, Attribute& attribute) {
  attribute.present = attribute.integer == 1;
  if (attribute.integer < 0 || attribute.integer > 1 ||
      attribute.integers.size() != (attribute.present ? 1u : 0u)) {
    reader.Fail(absl::StrCat("attribute '", attribute.name, "' has ", attribute.integers.size(),
                             " values where its presence is ", attribute.integer, "."));
    return;
  }
  attribute.integer = attribute.present ? attribute.integers[0] : 0;
  attribute.integers.clear();
}

Attribute ReadAttribute(FieldReader& reader, const fbs::Attribute& table) {
  Attribute attribute;
  attribute.name = reader.Text(table.name());
  attribute.kind = reader.Enum(table.kind(), AttributeKind::kOptionalI64, "attribute.kind");
  attribute.integer = table.integer();
  attribute.real = table.real();
  attribute.token = reader.Text(table.token());
  attribute.integers = reader.Numbers(table.integers());
  if (attribute.kind == AttributeKind::kOptionalI64) DecodeOptional(reader, attribute);
  return attribute;
}

NodeTable ReadNode(FieldReader& reader, const fbs::Node& table) {
  NodeTable node;
  node.op = reader.Text(table.op());
  node.op_version = table.op_version();
  node.inputs = reader.Numbers(table.inputs());
  node.outputs = reader.Numbers(table.outputs());
  const size_t count = reader.Count(table.attributes());
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const auto* attribute = table.attributes()->Get(static_cast<flatbuffers::uoffset_t>(i));
    node.attributes.push_back(ReadAttribute(reader, *attribute));
  }
  node.config_identity = table.config_identity();
  node.label = reader.Text(table.label());
  return node;
}

NamedValue ReadNamed(FieldReader& reader, const fbs::NamedValue& table) {
  return {reader.Text(table.name()), static_cast<ValueId>(table.value())};
}

}  // namespace

GraphTables TablesOf(const Graph& graph) {
  GraphTables tables = {graph.name(),     kProducer,       GraphIdentity(graph),
                        graph.storages(), graph.values(),  {},
                        graph.inputs(),   graph.outputs(), graph.test_vectors()};
  for (const Node& node : graph.nodes()) tables.nodes.push_back(TableOf(node));
  return tables;
}

std::vector<uint8_t> SerializeTables(const GraphTables& tables) {
  FlatBufferBuilder builder;
  ContainerWriter writer(FileKind::kGraph);
  StoreGraph(builder, writer, tables);
  return writer.Serialize({builder.GetBufferPointer(), builder.GetSize()});
}

absl::Status WriteTables(const GraphTables& tables, const std::string& path) {
  FlatBufferBuilder builder;
  ContainerWriter writer(FileKind::kGraph);
  StoreGraph(builder, writer, tables);
  return writer.Write(path, {builder.GetBufferPointer(), builder.GetSize()});
}

absl::StatusOr<GraphTables> ReadTables(const ContainerReader& file) {
  OA_ASSIGN_OR_RETURN(const fbs::Graph* root, VerifiedRoot<fbs::Graph>(file, FileKind::kGraph));
  FieldReader reader(file);
  GraphTables tables;
  tables.name = reader.Text(root->name());
  tables.producer = reader.Text(root->producer());
  tables.graph_identity = root->graph_identity();
  tables.storages = ReadAll(reader, "storages", root->storages(), ReadStorage);
  tables.values = ReadAll(reader, "values", root->values(), ReadValue);
  tables.nodes = ReadAll(reader, "nodes", root->nodes(), ReadNode);
  tables.inputs = ReadAll(reader, "inputs", root->inputs(), ReadNamed);
  tables.outputs = ReadAll(reader, "outputs", root->outputs(), ReadNamed);
  tables.test_vectors = reader.TestVectors(root->test_vectors());
  OA_RETURN_IF_ERROR(reader.Finish());
  return tables;
}

}  // namespace oa::ir
