#include "tools/common/dot.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/op.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"}, {"\"", "\\\""}}),
                      "\"");
}

// A view shares the version of its storage with an operand, an in-place result makes the next one.
const char* NodeStyle(const ir::Graph& graph, const ir::Node& node) {
  for (ir::ValueId out : node.outputs) {
    if (out == ir::kAbsent) continue;
    for (ir::ValueId in : node.inputs) {
      if (in == ir::kAbsent || graph.value(in).storage != graph.value(out).storage) continue;
      return graph.value(in).version == graph.value(out).version ? "dashed" : "bold";
    }
  }
  return "solid";
}

// "n3" for a value a node made, "s5" for the storage of an input or persistent value.
std::string SourceOf(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  return value.producer == ir::kAbsent ? absl::StrCat("s", value.storage)
                                       : absl::StrCat("n", value.producer);
}

// A place in a buffer and the dispatch that wrote it last.
struct Written {
  uint64_t begin = 0;
  uint64_t end = 0;
  size_t dispatch = 0;
};

// Follows dispatches in order and yields who reads what whom wrote.
class WriterMap {
 public:
  explicit WriterMap(size_t buffers) : written_(buffers) {}

  void Read(const PlanArgument& a, size_t reader, std::set<std::pair<size_t, size_t>>& edges) {
    for (const Written& w : written_[a.buffer]) {
      if (w.begin < a.offset + a.size_bytes && a.offset < w.end && w.dispatch != reader) {
        edges.insert({w.dispatch, reader});
      }
    }
  }

  void Write(const PlanArgument& a, size_t writer) {
    std::vector<Written>& list = written_[a.buffer];
    const uint64_t begin = a.offset, end = a.offset + a.size_bytes;
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const Written& w) { return w.begin >= begin && w.end <= end; }),
               list.end());
    list.push_back({begin, end, writer});
  }

 private:
  std::vector<std::vector<Written>> written_;
};

std::set<std::pair<size_t, size_t>> PlanEdges(const Plan& plan) {
  WriterMap writers(plan.buffers.size());
  std::set<std::pair<size_t, size_t>> edges;
  for (size_t i = 0; i < plan.dispatches.size(); ++i) {
    for (const PlanArgument& a : plan.dispatches[i].arguments) {
      if (a.kind != ArgumentKind::kBuffer || a.size_bytes == 0) continue;
      if (Reads(a.access)) writers.Read(a, i, edges);
    }
    for (const PlanArgument& a : plan.dispatches[i].arguments) {
      if (a.kind != ArgumentKind::kBuffer || a.size_bytes == 0) continue;
      if (Writes(a.access)) writers.Write(a, i);
    }
  }
  return edges;
}

}  // namespace

std::string GraphDot(const ir::Graph& graph) {
  std::string out = absl::StrCat("digraph ", Quoted(graph.name()),
                                 " {\n  node [fontname=\"sans-serif\", fontsize=10];\n"
                                 "  edge [fontname=\"sans-serif\", fontsize=8];\n");
  for (size_t i = 0; i < graph.storages().size(); ++i) {
    const ir::Storage& s = graph.storages()[i];
    if (s.kind == BufferKind::kTransient) continue;
    absl::StrAppend(&out, "  s", i, " [shape=ellipse, label=",
                    Quoted(absl::StrCat(BufferKindName(s.kind), " ", s.name)), "];\n");
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const ir::Node& node = graph.nodes()[i];
    absl::StrAppend(&out, "  n", i, " [shape=box, style=", NodeStyle(graph, node),
                    ", label=", Quoted(graph.NodeText(static_cast<ir::NodeId>(i))), "];\n");
    for (ir::ValueId in : node.inputs) {
      if (in == ir::kAbsent) continue;
      const ir::Value& value = graph.value(in);
      absl::StrAppend(&out, "  ", SourceOf(graph, in), " -> n", i,
                      " [label=", Quoted(TypeText(value.dtype, value.shape)), "];\n");
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ir::NamedValue& output = graph.outputs()[i];
    absl::StrAppend(&out, "  o", i, " [shape=ellipse, peripheries=2, label=", Quoted(output.name),
                    "];\n  ", SourceOf(graph, output.value), " -> o", i, ";\n");
  }
  return out + "}\n";
}

std::string PlanDot(const Plan& plan) {
  std::string out = absl::StrCat("digraph ", Quoted(plan.name),
                                 " {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n");
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    absl::StrAppend(&out, "  subgraph cluster_", stage, " {\n    label=\"stage ", stage, "\";\n");
    for (uint32_t k = 0; k < plan.stages[stage].dispatch_count; ++k) {
      const uint32_t index = plan.stages[stage].first_dispatch + k;
      const PlanDispatch& d = plan.dispatches[index];
      std::string label = absl::StrCat(d.label, " / ", plan.kernels[d.kernel].name);
      absl::StrAppend(&out, "    d", index, " [label=", Quoted(label), "];\n");
    }
    absl::StrAppend(&out, "  }\n");
  }
  for (const auto& [from, to] : PlanEdges(plan)) {
    absl::StrAppend(&out, "  d", from, " -> d", to, ";\n");
  }
  return out + "}\n";
}

}  // namespace oa::tools
