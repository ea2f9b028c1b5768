// Views of graphs and plans: HTML, SVG, Graphviz, JSON.
#include "tools/common/pages.h"

#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tools/common/describe_json.h"
#include "tools/common/dot.h"
#include "tools/common/html.h"
#include "tools/common/memory_map.h"

namespace oa::tools {
namespace {

// Two dispatches in two stages: t = f(x), y = g(t). One name tries to be markup.
Plan TwoStages() {
  Plan plan;
  plan.name = "<script>alert(1)</script>";
  plan.arenas = {{ArenaKind::kTransient, 512}, {ArenaKind::kIo, 512}};
  const auto buffer = [](const char* name, BufferKind kind, uint32_t arena, uint64_t offset) {
    PlanBuffer b;
    b.name = name;
    b.kind = kind;
    b.shape = {4};
    b.size_bytes = 16;
    b.arena = arena;
    b.offset = offset;
    b.last_stage = 1;
    return b;
  };
  plan.buffers = {buffer("x", BufferKind::kInput, 1, 0),
                  buffer("t \"quoted\"", BufferKind::kTransient, 0, 0),
                  buffer("y", BufferKind::kOutput, 1, 256)};
  plan.kernels = {{"f_f32", 1}, {"g_f32", 2}};
  const auto dispatch = [](uint32_t kernel, uint32_t from, uint32_t to) {
    PlanDispatch d;
    d.kernel = kernel;
    d.label = kernel == 0 ? "f" : "g";
    PlanArgument read, write;
    read.buffer = from;
    write.buffer = to;
    read.size_bytes = write.size_bytes = 16;
    write.access = Access::kWrite;
    d.arguments = {read, write};
    return d;
  };
  plan.dispatches = {dispatch(0, 0, 1), dispatch(1, 1, 2)};
  plan.stages = {{StageKind::kDispatches, 0, 1}, {StageKind::kDispatches, 1, 1}};
  plan.inputs = {{"x", 0, DType::F32, {4}}};
  plan.outputs = {{"y", 2, DType::F32, {4}}};
  return plan;
}

TEST_CASE("pages: a plan's page is whole and escapes names") {
  const std::string page =
      PlanPage(TwoStages(), {{"place", 2, 2, 2, 512, 64, 1.5}}, {{"linear+relu", "epilogue", 32}});
  CHECK(absl::StartsWith(page, "<!doctype html>"));
  CHECK(absl::EndsWith(page, "</html>\n"));
  CHECK_FALSE(absl::StrContains(page, "<script>"));
  CHECK(absl::StrContains(page, "&lt;script&gt;"));
  CHECK(absl::StrContains(page, "linear+relu"));
  CHECK(absl::StrContains(page, "<svg"));
  CHECK_FALSE(absl::StrContains(page, "http"));  // nothing is fetched
}

TEST_CASE("pages: the memory map has one rectangle a value") {
  const std::string svg = MemoryMapSvg(TwoStages(), 1);
  CHECK_EQ(std::vector<std::string>(absl::StrSplit(svg, "<rect")).size(), 3);
  CHECK(absl::StrContains(MemoryMapSvg(TwoStages(), 0), "t &quot;quoted&quot;"));
}

TEST_CASE("dot: a plan has a cluster a stage and an edge from writer to reader") {
  const std::string dot = PlanDot(TwoStages());
  CHECK(absl::StrContains(dot, "subgraph cluster_0"));
  CHECK(absl::StrContains(dot, "subgraph cluster_1"));
  CHECK(absl::StrContains(dot, "d0 -> d1;"));
  CHECK_FALSE(absl::StrContains(dot, "d1 -> d0;"));
}

TEST_CASE("json: a plan's description parses and keeps its figures") {
  const OrderedJson json = OrderedJson::parse(JsonText(PlanJson(TwoStages())), nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  CHECK_EQ(json["kind"], "plan");
  CHECK_EQ(json["stages"].size(), 2);
  CHECK_EQ(json["stages"][1]["dispatches"][0]["kernel"], "g_f32");
  CHECK_EQ(json["buffers"][1]["size_bytes"], 16);
}

TEST_CASE("json: invalid UTF-8 and NaN never fail") {
  CHECK_EQ(JsonText({{"a", std::string("\xFF")}}), "{\"a\":\"\xEF\xBF\xBD\"}");
  CHECK_EQ(JsonText({{"a", 0.0 / 0.0}}), "{\"a\":null}");
}

ir::Graph SmallGraph() {
  ir::Graph graph("small");
  const auto x = graph.AddStorage(BufferKind::kInput, "x", DType::F32, {2, 3});
  const auto total = graph.AddStorage(BufferKind::kState, "total", DType::F32, {2, 3});
  REQUIRE(x.ok());
  REQUIRE(total.ok());
  const auto y = graph.Record("relu", {*x});
  REQUIRE_MESSAGE(y.ok(), y.status().message());
  REQUIRE(graph.Record("accumulate", {*total, (*y)[0]}).ok());
  REQUIRE(graph.AddOutput("y", (*y)[0]).ok());
  return graph;
}

TEST_CASE("graph views: dot marks in-place operators, page and JSON name everything") {
  const ir::Graph graph = SmallGraph();
  const std::string dot = GraphDot(graph);
  CHECK(absl::StrContains(dot, "style=bold"));
  CHECK(absl::StrContains(dot, "input x"));
  CHECK(absl::StrContains(dot, "n0 -> n1"));
  CHECK(absl::StrContains(GraphPage(graph), "accumulate"));
  const OrderedJson json = OrderedJson::parse(JsonText(GraphJson(graph)), nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  CHECK_EQ(json["nodes"][0]["op"], "relu");
  CHECK_EQ(json["inputs"][0]["name"], "x");
}

TEST_CASE("html: text is escaped") {
  CHECK_EQ(HtmlEscape("a<b & \"c\">\n"), "a&lt;b &amp; &quot;c&quot;&gt;\\x0a");
}

}  // namespace
}  // namespace oa::tools
