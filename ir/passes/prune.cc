// Marks backwards from everything observable: the values of named outputs, and nodes that make the
// next version of a persistent storage. A node is needed when a needed node reads one of its
// results; the overwritten operand of an in-place node is an operand like any other. O(edges).
#include "ir/passes/prune.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/op.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Whether the node overwrites a storage that outlives the replay.
bool WritesPersistent(const Graph& graph, const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent || !node.op->operand(i).mutated) continue;
    if (IsPersistent(graph.storage_of(node.inputs[i]).kind)) return true;
  }
  return false;
}

class Marker {
 public:
  explicit Marker(const Graph& graph) : graph_(graph), needed_(graph.nodes().size()) {}

  std::vector<bool> Run() {
    for (const NamedValue& output : graph_.outputs()) NeedValue(output.value);
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (WritesPersistent(graph_, graph_.nodes()[n])) NeedNode(static_cast<NodeId>(n));
    }
    while (!pending_.empty()) {
      const NodeId node = pending_.back();
      pending_.pop_back();
      for (ValueId input : graph_.nodes()[node].inputs) NeedValue(input);
    }
    return std::move(needed_);
  }

 private:
  void NeedValue(ValueId id) {
    if (id != kAbsent && graph_.value(id).producer != kAbsent) NeedNode(graph_.value(id).producer);
  }
  void NeedNode(NodeId node) {
    if (needed_[node]) return;
    needed_[node] = true;
    pending_.push_back(node);
  }

  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<NodeId> pending_;
};

std::string ValueListText(const Graph& graph, const std::vector<ValueId>& ids) {
  return absl::StrJoin(ids, ", ", [&](std::string* out, ValueId id) {
    if (id == kAbsent) {
      out->append("-");
      return;
    }
    absl::StrAppend(out, "%", id, " ", TypeText(graph.value(id).dtype, graph.value(id).shape));
  });
}

}  // namespace

absl::StatusOr<std::vector<NodeId>> Prune(const Graph& graph) {
  OA_ASSIGN_OR_RETURN(const std::vector<NodeId> order, ExecutionOrder(graph));
  const std::vector<bool> needed = Marker(graph).Run();
  std::vector<NodeId> kept;
  for (NodeId node : order) {
    if (needed[node]) kept.push_back(node);
  }
  return kept;
}

std::string DumpNodes(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::string text = absl::StrCat("graph '", graph.name(), "': ", nodes.size(), " of ",
                                  graph.nodes().size(), " nodes are needed\n");
  for (NodeId id : nodes) {
    const Node& node = graph.nodes()[id];
    const std::string attributes = AttributesText(node.attributes);
    absl::StrAppend(&text, "  ", graph.NodeText(id), attributes.empty() ? "" : " {", attributes,
                    attributes.empty() ? "" : "}", ": ", ValueListText(graph, node.outputs), " <- ",
                    ValueListText(graph, node.inputs), "\n");
  }
  return text;
}

}  // namespace oa::ir
