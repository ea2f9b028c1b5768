#include "ir/graph_load.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "ir/graph_checks.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

std::string Hex(uint64_t identity) { return absl::StrFormat("0x%016x", identity); }

}  // namespace

GraphLoader::GraphLoader(GraphTables tables, const std::string& file)
    : file_(file),
      graph_identity_(tables.graph_identity),
      nodes_(std::move(tables.nodes)),
      graph_(std::move(tables.name)) {
  graph_.storages_ = std::move(tables.storages);
  graph_.values_ = std::move(tables.values);
  graph_.inputs_ = std::move(tables.inputs);
  graph_.outputs_ = std::move(tables.outputs);
  graph_.test_vectors_ = std::move(tables.test_vectors);
  // Filled by CheckSources and Replay.
  for (Storage& storage : graph_.storages_) storage.version = 0;
  for (Value& value : graph_.values_) value.producer = kAbsent;
}

absl::StatusOr<Graph> GraphLoader::Load() {
  OA_RETURN_IF_ERROR(CheckStorages());
  OA_RETURN_IF_ERROR(CheckValues());
  OA_RETURN_IF_ERROR(AssignProducers());
  OA_RETURN_IF_ERROR(CheckSources());
  OA_RETURN_IF_ERROR(CheckStoragesAreUsed());
  for (size_t i = 0; i < nodes_.size(); ++i) OA_RETURN_IF_ERROR(Replay(i));
  OA_RETURN_IF_ERROR(CheckInputs());
  OA_RETURN_IF_ERROR(CheckOutputs());
  OA_RETURN_IF_ERROR(CheckWhole());
  OA_RETURN_IF_ERROR(CheckTestVectors());
  return std::move(graph_);
}

absl::Status GraphLoader::Rule(size_t node, const absl::Status& status) const {
  if (status.ok() || absl::IsInternal(status)) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("'", file_, "': nodes[", node, "]: ", status.message()));
}

// ---- Tables ----

absl::Status GraphLoader::CheckStorages() {
  for (size_t i = 0; i < graph_.storages_.size(); ++i) {
    const Storage& s = graph_.storages_[i];
    if (s.kind == BufferKind::kOutput) return Bad("storages", i, "is an output; values are named");
    if (s.name.empty() != (s.kind == BufferKind::kTransient)) {
      return Bad("storages", i, "is ", BufferKindName(s.kind), " and has the name '", s.name, "'");
    }
    if (!s.name.empty() && !graph_.storage_names_.insert(s.name).second) {
      return Bad("storages", i, "has the name '", s.name, "' of an earlier storage");
    }
    const bool initialised =
        s.init == InitKind::kData || s.fill_bits != 0 || !s.initialiser.empty() || !s.data.empty();
    if (initialised && !IsPersistent(s.kind)) {
      return Bad("storages", i, "is ", BufferKindName(s.kind), " and has initial content");
    }
    if (s.init == InitKind::kData && s.fill_bits != 0) {
      return Bad("storages", i, "'", s.name, "' has both data and a fill value");
    }
    if (s.data.size() != (s.init == InitKind::kData ? s.size_bytes : 0)) {
      return Bad("storages", i, "'", s.name, "' has ", s.data.size(), " bytes of data for ",
                 s.size_bytes);
    }
  }
  return absl::OkStatus();
}

absl::Status GraphLoader::CheckValues() const {
  for (size_t i = 0; i < graph_.values_.size(); ++i) {
    const Value& v = graph_.values_[i];
    if (v.storage < 0 || static_cast<size_t>(v.storage) >= graph_.storages_.size()) {
      return Bad("values", i, "is in storage ", static_cast<uint32_t>(v.storage), " of ",
                 graph_.storages_.size());
    }
    if (v.shape.empty()) return Bad("values", i, "has rank 0");
    for (uint64_t extent : v.shape) {
      if (extent <= UINT32_MAX) continue;
      return Bad("values", i, "has extent ", extent, ", the limit is ", UINT32_MAX);
    }
    const absl::StatusOr<uint64_t> bytes = ByteSize(v.dtype, v.shape);
    if (!bytes.ok()) return Bad("values", i, "is too large: ", bytes.status().message());
    const uint64_t size_bytes = graph_.storages_[v.storage].size_bytes;
    if (*bytes != size_bytes) {
      return Bad("values", i, TypeText(v.dtype, v.shape), " takes ", *bytes,
                 " bytes, its storage has ", size_bytes);
    }
  }
  return absl::OkStatus();
}

// Results ascend as they do when recorded. With that, an operand below its node's results comes
// from an earlier node or is a source.
absl::Status GraphLoader::AssignProducers() {
  ValueId last = kAbsent;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (ValueId id : nodes_[n].outputs) {
      if (id == kAbsent) continue;
      if (id < 0 || static_cast<size_t>(id) >= graph_.values_.size()) {
        return Bad("nodes", n, "produces value ", id, " of ", graph_.values_.size());
      }
      if (id <= last) {
        return Bad("nodes", n, "produces value ", id, " after value ", last,
                   "; results ascend, and each value has one producer");
      }
      last = id;
      graph_.values_[id].producer = static_cast<NodeId>(n);
    }
  }
  return absl::OkStatus();
}

// Values without producer are version 0 of an input or persistent storage, one of each.
absl::Status GraphLoader::CheckSources() {
  started_.assign(graph_.storages_.size(), false);
  for (size_t i = 0; i < graph_.values_.size(); ++i) {
    const Value& v = graph_.values_[i];
    if (v.producer != kAbsent) continue;
    const Storage& storage = graph_.storages_[v.storage];
    if (storage.kind == BufferKind::kTransient) {
      return Bad("values", i, "has no producer and is neither an input nor persistent");
    }
    if (v.version != 0) return Bad("values", i, "has no producer and version ", v.version);
    if (started_[v.storage]) {
      return Bad("values", i, "is a second first value of '", storage.name, "'");
    }
    started_[v.storage] = true;
    if (storage.kind == BufferKind::kInput) sources_.push_back(static_cast<ValueId>(i));
  }
  return absl::OkStatus();
}

absl::Status GraphLoader::CheckStoragesAreUsed() const {
  std::vector<bool> used = started_;
  for (const Value& value : graph_.values_) {
    if (graph_.storages_[value.storage].kind == BufferKind::kTransient) used[value.storage] = true;
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) return Bad("storages", i, "'", graph_.storages_[i].name, "' has no first value");
  }
  return absl::OkStatus();
}

// ---- Nodes ----

absl::Status GraphLoader::Replay(size_t index) {
  OA_RETURN_IF_ERROR(CheckOperandIds(index));
  OA_ASSIGN_OR_RETURN(Node node, MakeNode(index));
  absl::StatusOr<std::vector<ResultType>> results = InferNode(graph_, node);
  if (!results.ok()) return Rule(index, results.status());
  OA_RETURN_IF_ERROR(Rule(index, CheckMutations(graph_, node)));
  for (size_t i = 0; i < nodes_[index].attributes.size(); ++i) {
    OA_RETURN_IF_ERROR(CheckToken(index, node.op->attributes[i], nodes_[index].attributes[i]));
  }
  if (node.outputs.size() != results->size()) {
    return Bad("nodes", index, node.op->name, " has ", node.outputs.size(), " results, expected ",
               results->size());
  }
  std::vector<bool> wanted;
  for (ValueId id : node.outputs) wanted.push_back(id != kAbsent);
  OA_RETURN_IF_ERROR(Rule(index, CheckWanted(*node.op, *results, wanted)));
  for (size_t i = 0; i < results->size(); ++i) {
    if (!wanted[i]) continue;
    OA_RETURN_IF_ERROR(CheckResult(index, node, node.outputs[i], (*results)[i]));
  }
  node.config_identity = ConfigIdentity(node.op->attributes, node.attributes);
  if (node.config_identity != nodes_[index].config_identity) {
    return Bad("nodes", index, node.op->name, " has config_identity ",
               Hex(nodes_[index].config_identity), ", its attributes hash to ",
               Hex(node.config_identity));
  }
  graph_.nodes_.push_back(std::move(node));
  return absl::OkStatus();
}

absl::StatusOr<Node> GraphLoader::MakeNode(size_t index) const {
  const NodeTable& table = nodes_[index];
  Node node;
  node.op = FindOp(table.op);
  if (node.op == nullptr) {
    return Rule(index, absl::InvalidArgumentError(absl::StrCat("there is no operator '", table.op,
                                                               "'", NearestOps(table.op))));
  }
  if (table.op_version != node.op->version) {
    return Rule(
        index, absl::InvalidArgumentError(absl::StrCat(
                   "operator ", table.op, " has version ", table.op_version,
                   ", this program knows version ", node.op->version, "; record the graph again")));
  }
  node.inputs = table.inputs;
  node.outputs = table.outputs;
  node.label = table.label;
  for (Attribute attribute : table.attributes) {
    if (attribute.kind == AttributeKind::kToken) attribute.integer = 0;  // see CheckToken
    node.attributes.Append(std::move(attribute));
  }
  return node;
}

absl::Status GraphLoader::CheckOperandIds(size_t index) const {
  ValueId first_result = static_cast<ValueId>(graph_.values_.size());
  for (ValueId id : nodes_[index].outputs) {
    if (id != kAbsent) first_result = std::min(first_result, id);
  }
  for (ValueId id : nodes_[index].inputs) {
    if (id >= kAbsent && id < first_result) continue;
    return Bad("nodes", index, "reads value ", id, ", which no earlier node produces");
  }
  return absl::OkStatus();
}

// A token is stored as text and number; the row has accepted the text.
absl::Status GraphLoader::CheckToken(size_t index, const AttributeDef& def,
                                     const Attribute& attribute) const {
  if (attribute.kind != AttributeKind::kToken) return absl::OkStatus();
  const int64_t number = attribute.integer;
  if (number >= 0 && static_cast<size_t>(number) < def.tokens.size() &&
      def.tokens[number] == attribute.token) {
    return absl::OkStatus();
  }
  return Bad("nodes", index, "attribute '", attribute.name, "' is token '", attribute.token,
             "' with the wrong number ", number);
}

absl::Status GraphLoader::CheckResult(size_t index, const Node& node, ValueId id,
                                      const ResultType& result) {
  const Value& value = graph_.values_[id];
  if (value.dtype != result.dtype || value.shape != result.shape) {
    return Bad("nodes", index, node.op->name, " produces value ", id, " ",
               TypeText(value.dtype, value.shape), ", expected ",
               TypeText(result.dtype, result.shape));
  }
  StorageId storage = value.storage;
  uint32_t version = 0;
  if (result.alias_of >= 0) {
    const Value& base = graph_.values_[node.inputs[result.alias_of]];
    storage = base.storage;
    version = result.in_place ? ++graph_.storages_[storage].version : base.version;
  } else if (started_[storage]) {
    return Bad("nodes", index, node.op->name, " produces value ", id, " in storage ", storage,
               ", which belongs to an earlier value");
  }
  started_[storage] = true;
  if (value.storage == storage && value.version == version) return absl::OkStatus();
  return Bad("nodes", index, node.op->name, " produces value ", id, " as version ", value.version,
             " of storage ", value.storage, ", expected version ", version, " of storage ",
             storage);
}

// ---- What the whole graph must satisfy ----

absl::Status GraphLoader::CheckInputs() const {
  for (size_t i = 0; i < graph_.inputs_.size(); ++i) {
    const NamedValue& input = graph_.inputs_[i];
    if (i >= sources_.size() || input.value != sources_[i]) {
      return Bad("inputs", i, "'", input.name, "' is value ", input.value,
                 ", which is not the next input in order");
    }
    const std::string& name = graph_.storage_of(input.value).name;
    if (input.name != name) {
      return Bad("inputs", i, "is named '", input.name, "', its storage '", name, "'");
    }
  }
  if (graph_.inputs_.size() == sources_.size()) return absl::OkStatus();
  return Bad("inputs", graph_.inputs_.size(), "is missing; there are ", sources_.size(),
             " input storages");
}

absl::Status GraphLoader::CheckOutputs() const {
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 0; i < graph_.outputs_.size(); ++i) {
    const NamedValue& output = graph_.outputs_[i];
    if (output.name.empty()) return Bad("outputs", i, "has no name");
    if (!names.insert(output.name).second) {
      return Bad("outputs", i, "has the name '", output.name, "' of an earlier output");
    }
    if (output.value < 0 || static_cast<size_t>(output.value) >= graph_.values_.size()) {
      return Bad("outputs", i, "'", output.name, "' is value ", static_cast<uint32_t>(output.value),
                 " of ", graph_.values_.size());
    }
  }
  return absl::OkStatus();
}

absl::Status GraphLoader::CheckWhole() const {
  const absl::Status ordered = ExecutionOrder(graph_).status();
  if (!ordered.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("'", file_, "': ", ordered.message()));
  }
  const uint64_t identity = GraphIdentity(graph_);
  if (identity == graph_identity_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", file_, "': graph_identity is ", Hex(graph_identity_),
                                          ", the graph hashes to ", Hex(identity), "."));
}

absl::Status GraphLoader::CheckTestVectors() const {
  for (size_t i = 0; i < graph_.test_vectors_.size(); ++i) {
    const TestVector& vector = graph_.test_vectors_[i];
    if (vector.replays == 0) return Bad("test_vectors", i, "has 0 replays");
    OA_RETURN_IF_ERROR(CheckTensors(i, "inputs", vector.inputs, graph_.inputs_));
    OA_RETURN_IF_ERROR(CheckTensors(i, "outputs", vector.outputs, graph_.outputs_));
  }
  return absl::OkStatus();
}

absl::Status GraphLoader::CheckTensors(size_t vector, absl::string_view table,
                                       const std::vector<TestTensor>& tensors,
                                       const std::vector<NamedValue>& list) const {
  absl::flat_hash_map<absl::string_view, uint64_t> sizes;
  for (const NamedValue& named : list) {
    sizes[named.name] = graph_.storage_of(named.value).size_bytes;
  }
  const std::string problem = TestTensorProblem(tensors, std::move(sizes), table, "graph");
  return problem.empty() ? absl::OkStatus() : Bad("test_vectors", vector, problem);
}

}  // namespace oa::ir
