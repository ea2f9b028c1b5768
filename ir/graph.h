// Graph: a recorded program in SSA form. Values live in storages; views share a storage, in-place
// operators make the next version of one.
#ifndef OA_IR_GRAPH_H_
#define OA_IR_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/attribute.h"
#include "schema/blob.h"
#include "schema/dtype.h"
#include "schema/plan.h"
#include "schema/test_vector.h"

namespace oa::ir {

struct OpDef;
struct ResultType;

using ValueId = int32_t;
using NodeId = int32_t;
using StorageId = int32_t;
inline constexpr int32_t kAbsent = -1;

struct Storage {
  std::string name;  // unique among persistent storages and inputs; "" for transients
  BufferKind kind = BufferKind::kTransient;  // never kOutput: outputs are named values
  uint64_t size_bytes = 0;
  InitKind init = InitKind::kFill;  // persistent storages only, like the next three
  uint32_t fill_bits = 0;
  Blob data;
  std::string initialiser;  // provenance, "kaiming_uniform(seed=1)"
  uint32_t version = 0;     // the newest version recorded so far
};

struct Value {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  StorageId storage = 0;
  uint32_t version = 0;
  NodeId producer = kAbsent;  // kAbsent: an input or a persistent value
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;   // kAbsent for an absent optional operand
  std::vector<ValueId> outputs;  // kAbsent for a result nobody asked for
  Attributes attributes;
  uint64_t config_identity = 0;
  std::string label;  // where the user recorded it, "" when unknown
};

struct NamedValue {
  std::string name;
  ValueId value = kAbsent;
};

// Not thread-safe. Invariant: everything inside has passed the operator table's validation.
class Graph {
 public:
  explicit Graph(std::string name) : name_(std::move(name)) {}

  // A new storage with its first value. InvalidArgument for a bad name, rank, extent or data size.
  // `kind` is kInput, kParameter, kState or kConstant. Inputs are listed in inputs().
  absl::StatusOr<ValueId> AddStorage(BufferKind kind, absl::string_view name, DType dtype,
                                     const Shape& shape);
  // Initial content of a persistent storage; the default is all zero bytes.
  absl::Status SetInitialData(ValueId value, Blob data, absl::string_view initialiser);
  absl::Status SetInitialFill(ValueId value, uint32_t bits, absl::string_view initialiser);

  struct RecordOptions {
    std::string label;
    // Which results are wanted; empty means all. Only results whose row marks them optional may
    // be unwanted.
    std::vector<bool> wanted;
  };
  // Validates a call of operator `op`, infers its results and appends the node. On failure nothing
  // changes: InvalidArgument names the operator and the violated rule; FailedPrecondition when an
  // operand is an overwritten version that cannot be ordered before its overwriting node.
  absl::StatusOr<std::vector<ValueId>> Record(absl::string_view op,
                                              absl::Span<const ValueId> inputs,
                                              const Attributes& attributes,
                                              const RecordOptions& options);
  absl::StatusOr<std::vector<ValueId>> Record(absl::string_view op,
                                              absl::Span<const ValueId> inputs,
                                              const Attributes& attributes = {}) {
    return Record(op, inputs, attributes, RecordOptions());
  }

  // Names a result. InvalidArgument when the name is taken or empty.
  absl::Status AddOutput(absl::string_view name, ValueId value);

  // A point to return to when a composed operation fails half-way.
  struct Mark {
    size_t storages, values, nodes, inputs, outputs;
    std::vector<uint32_t> versions;
  };
  Mark mark() const;
  void Rollback(const Mark& mark);

  const std::string& name() const { return name_; }
  const std::vector<Storage>& storages() const { return storages_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<NamedValue>& inputs() const { return inputs_; }
  const std::vector<NamedValue>& outputs() const { return outputs_; }
  std::vector<TestVector>& test_vectors() { return test_vectors_; }
  const std::vector<TestVector>& test_vectors() const { return test_vectors_; }

  const Value& value(ValueId id) const { return values_[id]; }
  const Storage& storage_of(ValueId id) const { return storages_[values_[id].storage]; }
  // True when `id` is the newest version of its storage.
  bool IsLatest(ValueId id) const { return values_[id].version == storage_of(id).version; }
  // "relu#12" or "relu#12 (encoder)".
  std::string NodeText(NodeId id) const;

 private:
  friend class GraphLoader;  // ir/graph_load.cc: rebuilds a graph through the same checks

  absl::Status CheckName(absl::string_view name) const;
  absl::StatusOr<Storage*> InitialisedStorage(ValueId value);
  // Appends a validated call.
  std::vector<ValueId> Append(Node node, absl::Span<const ResultType> results,
                              const std::vector<bool>& wanted);

  std::string name_;
  std::vector<Storage> storages_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<NamedValue> inputs_;
  std::vector<NamedValue> outputs_;
  std::vector<TestVector> test_vectors_;
  absl::flat_hash_set<std::string> storage_names_;  // of the named storages
};

// An order of all nodes in which producers precede consumers and readers of an old version
// precede the node that overwrites it; ties go to the recorded order. FailedPrecondition naming
// two nodes of a cycle when there is none.
absl::StatusOr<std::vector<NodeId>> ExecutionOrder(const Graph& graph);

// FNV-1a 64 over the canonical walk: operator names, versions, config identities, operand ids,
// dtypes and shapes, storages and their kinds, named inputs and outputs. Labels, initial data and
// test vectors do not count.
uint64_t GraphIdentity(const Graph& graph);

// Readable text of the whole graph, one line a node; stable.
std::string DumpGraph(const Graph& graph);

}  // namespace oa::ir

#endif  // OA_IR_GRAPH_H_
