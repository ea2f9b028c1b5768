#include "ir/graph_checks.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace oa::ir {
namespace {

template <class... Parts>
absl::Status Reject(const OpDef& op, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(op.name, ": ", parts...));
}

absl::Status CheckMutated(const Graph& graph, const Node& node, size_t i) {
  const ValueId value = node.inputs[i];
  const Storage& storage = graph.storage_of(value);
  const std::string& operand = node.op->operand(i).name;
  if (storage.kind == BufferKind::kInput || storage.kind == BufferKind::kConstant) {
    return Reject(*node.op, "operand '", operand, "' is ", BufferKindName(storage.kind), " ",
                  ValueText(graph, value), ", which cannot be updated in place");
  }
  if (!graph.IsLatest(value)) {
    return Reject(*node.op, "operand '", operand, "' is version ", graph.value(value).version,
                  " of ", ValueText(graph, value), ", only the newest, version ", storage.version,
                  ", can be updated in place");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ResultType>> InferNode(const Graph& graph, const Node& node) {
  std::vector<InferContext::Operand> types;
  std::vector<const InferContext::Operand*> operands;
  types.reserve(node.inputs.size());  // the pointers into it stay valid
  operands.reserve(node.inputs.size());
  for (ValueId id : node.inputs) {
    if (id == kAbsent) {
      operands.push_back(nullptr);
      continue;
    }
    if (id < 0 || static_cast<size_t>(id) >= graph.values().size()) {
      return Reject(*node.op, "operand ", operands.size(), " is value ", id, " of ",
                    graph.values().size());
    }
    types.push_back({graph.value(id).dtype, graph.value(id).shape});
    operands.push_back(&types.back());
  }
  return InferResults(*node.op, std::move(operands), node.attributes);
}

absl::Status CheckMutations(const Graph& graph, const Node& node) {
  absl::flat_hash_map<StorageId, size_t> writer;  // storage -> operand that mutates it
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent || !node.op->operand(i).mutated) continue;
    const absl::Status checked = CheckMutated(graph, node, i);
    if (!checked.ok()) return checked;
    if (!writer.emplace(graph.value(node.inputs[i]).storage, i).second) {
      return Reject(*node.op, ValueText(graph, node.inputs[i]), " is updated in place twice");
    }
  }
  if (writer.empty()) return absl::OkStatus();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const auto found = writer.find(graph.value(node.inputs[i]).storage);
    if (found == writer.end() || found->second == i) continue;
    return Reject(*node.op, "operand '", node.op->operand(i).name, "' shares the storage of ",
                  ValueText(graph, node.inputs[i]), ", which operand '",
                  node.op->operand(found->second).name, "' updates in place; copy it first");
  }
  return absl::OkStatus();
}

absl::Status CheckWanted(const OpDef& op, absl::Span<const ResultType> results,
                         const std::vector<bool>& wanted) {
  if (wanted.empty()) return absl::OkStatus();
  if (wanted.size() != results.size()) {
    return Reject(op, "has ", results.size(), " results, wanted lists ", wanted.size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (wanted[i] || (op.result(i).optional && !results[i].in_place)) continue;
    return Reject(op, "result '", op.result(i).name, "' is not optional");
  }
  if (absl::c_linear_search(wanted, true)) return absl::OkStatus();
  return Reject(op, "none of its results is wanted");
}

std::string ValueText(const Graph& graph, ValueId value) {
  const std::string& name = graph.storage_of(value).name;
  return name.empty() ? absl::StrCat("%", value) : absl::StrCat("'", name, "'");
}

}  // namespace oa::ir
