// ExecutionOrder: Kahn's algorithm with a heap of node ids, O((nodes + edges) log nodes).
#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph.h"
#include "ir/graph_checks.h"

namespace oa::ir {
namespace {

class Orderer {
 public:
  explicit Orderer(const Graph& graph) : graph_(graph), later_(graph.nodes().size()) {
    FindWriters();
    AddEdges();
  }

  absl::StatusOr<std::vector<NodeId>> Run() {
    const size_t count = graph_.nodes().size();
    std::vector<uint32_t> waits_for(count);
    for (const auto& successors : later_) {
      for (NodeId node : successors) ++waits_for[node];
    }
    std::priority_queue<NodeId, std::vector<NodeId>, std::greater<NodeId>> ready;
    for (size_t i = 0; i < count; ++i) {
      if (waits_for[i] == 0) ready.push(static_cast<NodeId>(i));
    }
    std::vector<NodeId> order;
    order.reserve(count);
    while (!ready.empty()) {
      const NodeId node = ready.top();
      ready.pop();
      order.push_back(node);
      for (NodeId next : later_[node]) {
        if (--waits_for[next] == 0) ready.push(next);
      }
    }
    if (order.size() == count) return order;
    return Cycle(waits_for);
  }

 private:
  // writers_[storage][v] is the node that makes version v + 1.
  void FindWriters() {
    writers_.resize(graph_.storages().size());
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      for (ValueId id : graph_.nodes()[n].outputs) {
        if (id == kAbsent) continue;
        const Value& value = graph_.value(id);
        std::vector<NodeId>& writers = writers_[value.storage];
        // Views of a version come after the value that made it.
        if (value.version == writers.size() + 1) writers.push_back(static_cast<NodeId>(n));
      }
    }
  }

  // The overwriting node of the version that `id` is, or kAbsent.
  NodeId Overwriter(ValueId id) const {
    const Value& value = graph_.value(id);
    const std::vector<NodeId>& writers = writers_[value.storage];
    return value.version < writers.size() ? writers[value.version] : kAbsent;
  }

  // Ordering readers before the writer of the next version orders them before all later ones: each
  // writer reads what the one before it made.
  void AddEdges() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const NodeId node = static_cast<NodeId>(n);
      for (ValueId id : graph_.nodes()[n].inputs) {
        if (id == kAbsent) continue;
        const NodeId producer = graph_.value(id).producer;
        if (producer != kAbsent) later_[producer].push_back(node);
        const NodeId overwriter = Overwriter(id);
        if (overwriter != kAbsent && overwriter != node) later_[n].push_back(overwriter);
      }
    }
  }

  // Walks backwards among the nodes that are still waiting until one repeats: between the two
  // visits lies a cycle. Producers are recorded before consumers, so some edge of it goes from a
  // later node to an earlier one, and that is a read before an overwrite.
  absl::Status Cycle(const std::vector<uint32_t>& waits_for) const {
    std::vector<NodeId> before(waits_for.size(), kAbsent);  // some waiting predecessor
    for (size_t n = 0; n < waits_for.size(); ++n) {
      if (waits_for[n] == 0) continue;
      for (NodeId next : later_[n]) before[next] = static_cast<NodeId>(n);
    }
    NodeId node = 0;
    while (waits_for[node] == 0) ++node;
    std::vector<bool> seen(waits_for.size());
    for (; !seen[node]; node = before[node]) seen[node] = true;
    NodeId reader = before[node], writer = node;
    while (reader < writer) {
      writer = reader;
      reader = before[writer];
    }
    return Describe(reader, writer);
  }

  absl::Status Describe(NodeId reader, NodeId writer) const {
    std::string what;
    for (ValueId id : graph_.nodes()[reader].inputs) {
      if (id == kAbsent || Overwriter(id) != writer) continue;
      what = absl::StrCat("version ", graph_.value(id).version, " of ", ValueText(graph_, id));
      break;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        graph_.NodeText(reader), " reads ", what, ", which ", graph_.NodeText(writer),
        " overwrites, but it also depends on ", graph_.NodeText(writer),
        " and cannot run before it; record the read before the overwriting node, or read a copy "
        "made before it"));
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> writers_;
  std::vector<std::vector<NodeId>> later_;  // successors of each node
};

}  // namespace

absl::StatusOr<std::vector<NodeId>> ExecutionOrder(const Graph& graph) {
  return Orderer(graph).Run();
}

}  // namespace oa::ir
