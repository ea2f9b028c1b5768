#include "tools/common/pages.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/op.h"
#include "tools/common/html.h"
#include "tools/common/memory_map.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string Number(uint64_t value) { return absl::StrCat(value); }

void AddPlanSummary(const Plan& plan, HtmlPage& page) {
  uint64_t flops = 0, read = 0, written = 0;
  for (const PlanDispatch& d : plan.dispatches) {
    flops += d.flops;
    read += d.bytes_read;
    written += d.bytes_written;
  }
  page.Table({"plan", plan.name},
             {{"graph identity", absl::StrFormat("%016x", plan.graph_identity)},
              {"compiled for", plan.profile.name},
              {"dispatches", Number(plan.dispatches.size())},
              {"stages", Number(plan.stages.size())},
              {"kernels", Number(plan.kernels.size())},
              {"flops a replay", HumanNumber(static_cast<double>(flops))},
              {"bytes read a replay", HumanBytes(read)},
              {"bytes written a replay", HumanBytes(written)},
              {"test vectors", Number(plan.test_vectors.size())}});
}

void AddPasses(const std::vector<ir::PassReport>& passes, HtmlPage& page) {
  if (passes.empty()) return;
  page.Heading("Passes");
  Rows rows;
  for (const ir::PassReport& p : passes) {
    rows.push_back({p.pass, Number(p.nodes), Number(p.dispatches), Number(p.stages),
                    HumanBytes(p.peak_bytes), HumanBytes(p.bytes_moved),
                    HumanSeconds(p.time_ms / 1e3)});
  }
  page.Table({"pass", "nodes", "dispatches", "stages", "peak of transients", "bytes moved", "time"},
             rows, {1, 2, 3, 4, 5, 6});
}

void AddFusions(const std::vector<ir::FusionNote>& fusions, HtmlPage& page) {
  if (fusions.empty()) return;
  page.Heading("Fusions");
  Rows rows;
  for (const ir::FusionNote& f : fusions) {
    rows.push_back({f.what, f.rule, HumanBytes(f.bytes_saved)});
  }
  page.Table({"operators", "rule", "bytes saved"}, rows, {2});
}

void AddMemory(const Plan& plan, HtmlPage& page) {
  page.Heading("Memory");
  page.Paragraph(
      "Stages run from left to right, bytes of the arena downwards; hover over a value to see what "
      "it is.");
  for (uint32_t i = 0; i < plan.arenas.size(); ++i) {
    const PlanArena& arena = plan.arenas[i];
    page.Paragraph(absl::StrCat("Arena ", i, ": ", ArenaName(arena.kind), ", ",
                                HumanBytes(arena.size_bytes),
                                arena.kind == ArenaKind::kIo ? " for each replay in flight" : ""));
    page.Markup(MemoryMapSvg(plan, i));
  }
}

void AddDispatches(const Plan& plan, HtmlPage& page) {
  page.Heading("Dispatches");
  Rows rows;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    for (uint32_t k = 0; k < plan.stages[stage].dispatch_count; ++k) {
      const uint32_t index = plan.stages[stage].first_dispatch + k;
      const PlanDispatch& d = plan.dispatches[index];
      rows.push_back({Number(stage), Number(index), d.label, plan.kernels[d.kernel].name,
                      absl::StrJoin(d.grid, "x"), HumanNumber(static_cast<double>(d.flops)),
                      HumanBytes(d.bytes_read), HumanBytes(d.bytes_written)});
    }
  }
  page.Table({"stage", "dispatch", "operators", "kernel", "workgroups", "flops", "read", "written"},
             rows, {0, 1, 5, 6, 7});
}

void AddBuffers(const Plan& plan, HtmlPage& page) {
  page.Heading("Values");
  Rows rows;
  for (const PlanBuffer& b : plan.buffers) {
    rows.push_back({b.name, BufferKindName(b.kind), TypeText(b.dtype, b.shape),
                    HumanBytes(b.size_bytes), absl::StrCat(b.arena, ":", b.offset),
                    absl::StrCat(b.first_stage, " to ", b.last_stage)});
  }
  page.Table({"name", "kind", "type", "size", "arena:offset", "stages"}, rows, {3});
}

std::string ValueName(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kAbsent) return "-";
  const ir::Value& value = graph.value(id);
  const std::string& name = value.name.empty() ? graph.storage_of(id).name : value.name;
  return name.empty() ? absl::StrCat("%", id) : absl::StrCat(name, "%", id);
}

std::string ValueNames(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  std::vector<std::string> names;
  for (ir::ValueId id : ids) names.push_back(ValueName(graph, id));
  return absl::StrJoin(names, ", ");
}

void AddOperators(const ir::Graph& graph, HtmlPage& page) {
  page.Heading("Operators");
  std::map<std::string, uint64_t> counts;
  for (const ir::Node& node : graph.nodes()) ++counts[node.op->name];
  Rows rows;
  for (const auto& [name, count] : counts) rows.push_back({name, Number(count)});
  page.Table({"operator", "nodes"}, rows, {1});
}

void AddNodes(const ir::Graph& graph, HtmlPage& page) {
  page.Heading("Nodes");
  Rows rows;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const ir::Node& node = graph.nodes()[i];
    std::vector<std::string> types;
    for (ir::ValueId id : node.outputs) {
      if (id == ir::kAbsent) continue;
      types.push_back(TypeText(graph.value(id).dtype, graph.value(id).shape));
    }
    rows.push_back({Number(i), node.op->name, ir::AttributesText(node.attributes),
                    ValueNames(graph, node.inputs), ValueNames(graph, node.outputs),
                    absl::StrJoin(types, ", "), node.label});
  }
  page.Table({"node", "operator", "attributes", "operands", "results", "types", "label"}, rows,
             {0});
}

void AddStorages(const ir::Graph& graph, HtmlPage& page) {
  page.Heading("Storages");
  Rows rows;
  for (const ir::Storage& s : graph.storages()) {
    if (s.kind == BufferKind::kTransient) continue;
    rows.push_back({s.name, BufferKindName(s.kind), HumanBytes(s.size_bytes), Number(s.version),
                    s.initialiser});
  }
  page.Table({"name", "kind", "size", "versions", "initialiser"}, rows, {2, 3});
}

}  // namespace

std::string PlanPage(const Plan& plan, const std::vector<ir::PassReport>& passes,
                     const std::vector<ir::FusionNote>& fusions) {
  HtmlPage page(absl::StrCat("Plan ", plan.name));
  AddPlanSummary(plan, page);
  AddPasses(passes, page);
  AddMemory(plan, page);
  AddFusions(fusions, page);
  AddDispatches(plan, page);
  AddBuffers(plan, page);
  return page.Text();
}

std::string GraphPage(const ir::Graph& graph) {
  HtmlPage page(absl::StrCat("Graph ", graph.name()));
  std::vector<std::string> inputs, outputs;
  for (const ir::NamedValue& in : graph.inputs()) {
    const ir::Value& v = graph.value(in.value);
    inputs.push_back(absl::StrCat(in.name, " ", TypeText(v.dtype, v.shape)));
  }
  for (const ir::NamedValue& out : graph.outputs()) {
    const ir::Value& v = graph.value(out.value);
    outputs.push_back(absl::StrCat(out.name, " ", TypeText(v.dtype, v.shape)));
  }
  page.Table({"graph", graph.name()},
             {{"identity", absl::StrFormat("%016x", ir::GraphIdentity(graph))},
              {"nodes", Number(graph.nodes().size())},
              {"inputs", absl::StrJoin(inputs, ", ")},
              {"outputs", absl::StrJoin(outputs, ", ")},
              {"test vectors", Number(graph.test_vectors().size())}});
  AddOperators(graph, page);
  AddNodes(graph, page);
  AddStorages(graph, page);
  return page.Text();
}

}  // namespace oa::tools
