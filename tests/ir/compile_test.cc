#include "ir/compile.h"

#include <doctest/doctest.h>

#include "absl/strings/str_split.h"
#include "tests/ir/fake_kernels.h"
#include "tests/ir/graph_fixture.h"

namespace oa::ir {
namespace {

// y = relu(x + b), s += y, with a test vector.
Graph SmallModel() {
  Graph graph("small");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {2, 4});
  const ValueId b = Declare(graph, BufferKind::kParameter, "b", {4});
  const ValueId s = Declare(graph, BufferKind::kState, "s", {2, 4});
  const ValueId y = Call(graph, "relu", {Call(graph, "add", {x, b})});
  REQUIRE(graph.AddOutput("y", y).ok());
  REQUIRE(graph.AddOutput("total", Call(graph, "accumulate", {s, y})).ok());
  REQUIRE(graph.SetInitialData(b, Blob::Own(std::vector<uint8_t>(16, 1)), "ones").ok());
  TestVector vector;
  vector.name = "v";
  vector.inputs.push_back({"x", Blob::Own(std::vector<uint8_t>(32))});
  graph.test_vectors().push_back(vector);
  return graph;
}

TEST_CASE("a small model compiles to a valid plan") {
  const KernelPack pack = FakePack();
  const Graph graph = SmallModel();
  const Compiled compiled = Must(Compile(graph, pack, {}));
  const Plan& plan = compiled.plan;
  CHECK_EQ(plan.name, "small");
  CHECK_EQ(plan.graph_identity, GraphIdentity(graph));
  CHECK_EQ(plan.inputs.size(), 1);
  CHECK_EQ(plan.outputs.size(), 2);
  CHECK_EQ(plan.test_vectors.size(), 1);
  // add, relu and accumulate are one dispatch that also writes both outputs.
  CHECK_EQ(plan.dispatches.size(), 1);
  CHECK_EQ(plan.dispatches[0].label, "add+relu+accumulate+copy");
  CHECK_EQ(plan.dispatches[0].bytes_written, 3 * 32);
  CHECK_EQ(plan.stages.size(), 1);
  const int b = plan.FindPersistent("b");
  REQUIRE_GE(b, 0);
  CHECK_EQ(plan.buffers[static_cast<size_t>(b)].init, InitKind::kData);
  CHECK(VerifyPlan(plan, "plan").ok());
  CHECK(VerifyPlanKernels(plan, pack, "plan").ok());
}

TEST_CASE("without fusion every operator has its dispatch") {
  const KernelPack pack = FakePack();
  CompileOptions options;
  options.fuse = false;
  const Compiled compiled = Must(Compile(SmallModel(), pack, options));
  CHECK_EQ(compiled.plan.dispatches.size(), 4);
  CHECK(compiled.fusions.empty());
}

TEST_CASE("compiling twice gives the same bytes") {
  const KernelPack pack = FakePack();
  const std::vector<uint8_t> first = SerializePlan(Must(Compile(SmallModel(), pack, {})).plan);
  const std::vector<uint8_t> second = SerializePlan(Must(Compile(SmallModel(), pack, {})).plan);
  CHECK_EQ(first, second);
}

TEST_CASE("every pass is reported and handed to the caller") {
  const KernelPack pack = FakePack();
  std::vector<std::string> passes;
  CompileOptions options;
  options.on_pass = [&](absl::string_view pass, const std::string& text) {
    passes.emplace_back(pass);
    CHECK_FALSE(text.empty());
  };
  const Compiled compiled = Must(Compile(SmallModel(), pack, options));
  const std::vector<std::string> expected = {"prune", "lower", "fuse", "schedule", "place"};
  CHECK_EQ(passes, expected);
  REQUIRE_EQ(compiled.passes.size(), 5);
  CHECK_EQ(compiled.passes[0].nodes, 3);
  CHECK_EQ(compiled.passes[1].dispatches, 4);
  CHECK_LT(compiled.passes[2].bytes_moved, compiled.passes[1].bytes_moved);
  CHECK_EQ(compiled.passes[3].stages, 1);
}

TEST_CASE("the report table fits a terminal") {
  PassReport report;
  report.pass = "schedule";
  report.nodes = report.dispatches = report.stages = 123456;
  report.peak_bytes = uint64_t{3} << 40;
  report.bytes_moved = 1536;
  report.time_ms = 12345.6;
  const std::string table = ReportTable({report, PassReport()});
  for (absl::string_view line : absl::StrSplit(table, '\n')) CHECK_LE(line.size(), 80);
  CHECK(absl::StrContains(table, "1.5 KiB"));
  CHECK(absl::StrContains(table, "3.0 TiB"));
}

TEST_CASE("an operator without a kernel is refused with its operands") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {2, 3});
  REQUIRE(graph.AddOutput("y", Call(graph, "softmax", {x}, Attributes().I64("axis", 1))).ok());
  const absl::Status status = Compile(graph, pack, {}).status();
  OA_CHECK_STATUS(status, kUnimplemented, "softmax#0");
  OA_CHECK_STATUS(status, kUnimplemented, "f32[2, 3]");
}

TEST_CASE("a value larger than the device allows is refused by name") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "images", {1024, 1024});
  REQUIRE(graph.AddOutput("y", Call(graph, "relu", {x})).ok());
  CompileOptions options;
  options.profile.max_allocation_bytes = 1 << 20;
  OA_CHECK_STATUS(Compile(graph, pack, options).status(), kResourceExhausted, "'images'");
}

TEST_CASE("guards must keep buffers aligned") {
  const KernelPack pack = FakePack();
  CompileOptions options;
  options.guard_bytes = 100;
  OA_CHECK_STATUS(Compile(SmallModel(), pack, options).status(), kInvalidArgument, "guard_bytes");
  options.guard_bytes = 512;
  options.reuse_memory = false;
  CHECK(Compile(SmallModel(), pack, options).ok());
}

TEST_CASE("a graph without nodes compiles") {
  const KernelPack pack = FakePack();
  Graph graph("empty");
  Declare(graph, BufferKind::kParameter, "p", {4});
  CHECK(Must(Compile(graph, pack, {})).plan.dispatches.empty());
}

}  // namespace
}  // namespace oa::ir
