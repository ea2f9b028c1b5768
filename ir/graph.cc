#include "ir/graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph_checks.h"
#include "ir/op.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Ids are 31-bit.
constexpr size_t kMaxTableSize = std::numeric_limits<int32_t>::max() / 2;

absl::Status CheckStorageShape(absl::string_view name, DType dtype, const Shape& shape) {
  const auto reject = [&](absl::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' ", TypeText(dtype, shape), " ", problem));
  };
  if (shape.empty() || shape.size() > kMaxRank) {
    return reject(absl::StrCat("has rank ", shape.size(), ", must be 1 to ", kMaxRank));
  }
  for (uint64_t extent : shape) {
    if (extent > UINT32_MAX) {
      return reject(absl::StrCat("has extent ", extent, ", the limit is ", UINT32_MAX));
    }
  }
  const absl::StatusOr<uint64_t> bytes = ByteSize(dtype, shape);
  return bytes.ok() ? absl::OkStatus() : reject("has a size that does not fit 64 bits");
}

}  // namespace

absl::Status Graph::CheckName(absl::string_view name) const {
  if (name.empty()) {
    return absl::InvalidArgumentError("inputs, parameters, states and constants need a name");
  }
  if (storage_names_.contains(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the name '", name, "' is taken by another input, parameter, state or constant"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ValueId> Graph::AddStorage(BufferKind kind, absl::string_view name, DType dtype,
                                          const Shape& shape) {
  if (kind != BufferKind::kInput && !IsPersistent(kind)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' cannot be declared as ", BufferKindName(kind)));
  }
  OA_RETURN_IF_ERROR(CheckName(name));
  OA_RETURN_IF_ERROR(CheckStorageShape(name, dtype, shape));
  Storage storage;
  storage.name = std::string(name);
  storage.kind = kind;
  storage.size_bytes = *ByteSize(dtype, shape);
  Value value;
  value.name = storage.name;
  value.dtype = dtype;
  value.shape = shape;
  value.storage = static_cast<StorageId>(storages_.size());
  const ValueId id = static_cast<ValueId>(values_.size());
  if (kind == BufferKind::kInput) inputs_.push_back({storage.name, id});
  storage_names_.insert(storage.name);
  storages_.push_back(std::move(storage));
  values_.push_back(std::move(value));
  return id;
}

absl::StatusOr<Storage*> Graph::InitialisedStorage(ValueId value) {
  if (value < 0 || static_cast<size_t>(value) >= values_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("initial content for value ", value, " of ", values_.size()));
  }
  Storage& storage = storages_[values_[value].storage];
  if (IsPersistent(storage.kind)) return &storage;
  return absl::InvalidArgumentError(
      absl::StrCat(ValueText(*this, value), " is ", BufferKindName(storage.kind),
                   "; only parameters, states and constants have initial content"));
}

absl::Status Graph::SetInitialData(ValueId value, Blob data, absl::string_view initialiser) {
  OA_ASSIGN_OR_RETURN(Storage * storage, InitialisedStorage(value));
  if (data.size() != storage->size_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", storage->name, "' takes ", storage->size_bytes, " bytes of data, got ", data.size()));
  }
  storage->init = InitKind::kData;
  storage->fill_bits = 0;
  storage->data = std::move(data);
  storage->initialiser = std::string(initialiser);
  return absl::OkStatus();
}

absl::Status Graph::SetInitialFill(ValueId value, uint32_t bits, absl::string_view initialiser) {
  OA_ASSIGN_OR_RETURN(Storage * storage, InitialisedStorage(value));
  storage->init = InitKind::kFill;
  storage->fill_bits = bits;
  storage->data = Blob();
  storage->initialiser = std::string(initialiser);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ValueId>> Graph::Record(absl::string_view op,
                                                   absl::Span<const ValueId> inputs,
                                                   const Attributes& attributes,
                                                   const RecordOptions& options) {
  // Copies first: the arguments may point into the graph, which is about to grow.
  Node node;
  node.op = FindOp(op);
  if (node.op == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no operator '", op, "'", NearestOps(op)));
  }
  node.inputs.assign(inputs.begin(), inputs.end());
  node.attributes = attributes;
  node.label = options.label;
  OA_ASSIGN_OR_RETURN(const std::vector<ResultType> results, InferNode(*this, node));
  OA_RETURN_IF_ERROR(CheckMutations(*this, node));
  OA_RETURN_IF_ERROR(CheckWanted(*node.op, results, options.wanted));
  if (values_.size() + results.size() > kMaxTableSize) {
    return absl::ResourceExhaustedError(absl::StrCat(op, ": the graph has ", values_.size(),
                                                     " values, the limit is ", kMaxTableSize));
  }
  const bool reads_old = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId id) { return id != kAbsent && !IsLatest(id); });
  if (!reads_old) return Append(std::move(node), results, options.wanted);
  // Legal if the read can be ordered before the overwrite.
  const Mark before = mark();
  std::vector<ValueId> outputs = Append(std::move(node), results, options.wanted);
  const absl::Status ordered = ExecutionOrder(*this).status();
  if (ordered.ok()) return outputs;
  Rollback(before);
  return Annotate(ordered, op);
}

std::vector<ValueId> Graph::Append(Node node, absl::Span<const ResultType> results,
                                   const std::vector<bool>& wanted) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!wanted.empty() && !wanted[i]) {
      node.outputs.push_back(kAbsent);
      continue;
    }
    Value value;
    value.dtype = results[i].dtype;
    value.shape = results[i].shape;
    value.producer = id;
    if (results[i].alias_of >= 0) {
      const Value& base = values_[node.inputs[results[i].alias_of]];
      value.storage = base.storage;
      value.version = base.version;
      if (results[i].in_place) value.version = ++storages_[base.storage].version;
    } else {
      Storage storage;
      storage.size_bytes = *ByteSize(value.dtype, value.shape);  // at most 2^32-1 elements
      value.storage = static_cast<StorageId>(storages_.size());
      storages_.push_back(std::move(storage));
    }
    node.outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back(std::move(value));
  }
  node.config_identity = ConfigIdentity(node.op->attributes, node.attributes);
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

absl::Status Graph::AddOutput(absl::string_view name, ValueId value) {
  if (name.empty()) return absl::InvalidArgumentError("an output needs a name");
  if (value < 0 || static_cast<size_t>(value) >= values_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("output '", name, "' is value ", value, " of ", values_.size()));
  }
  for (const NamedValue& output : outputs_) {
    if (output.name == name) {
      return absl::InvalidArgumentError(
          absl::StrCat("the name '", name, "' is taken by another output"));
    }
  }
  outputs_.push_back({std::string(name), value});
  return absl::OkStatus();
}

Graph::Mark Graph::mark() const {
  Mark mark = {storages_.size(), values_.size(),  nodes_.size(),
               inputs_.size(),   outputs_.size(), {}};
  mark.versions.reserve(storages_.size());
  for (const Storage& storage : storages_) mark.versions.push_back(storage.version);
  return mark;
}

void Graph::Rollback(const Mark& mark) {
  for (size_t i = mark.storages; i < storages_.size(); ++i) storage_names_.erase(storages_[i].name);
  storages_.resize(mark.storages);
  values_.resize(mark.values);
  nodes_.resize(mark.nodes);
  inputs_.resize(mark.inputs);
  outputs_.resize(mark.outputs);
  for (size_t i = 0; i < storages_.size(); ++i) storages_[i].version = mark.versions[i];
}

std::string Graph::NodeText(NodeId id) const {
  const Node& node = nodes_[id];
  return absl::StrCat(node.op->name, "#", id,
                      node.label.empty() ? "" : absl::StrCat(" (", node.label, ")"));
}

}  // namespace oa::ir
