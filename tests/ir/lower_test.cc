#include "ir/passes/lower.h"

#include <doctest/doctest.h>

#include "ir/grid.h"
#include "ir/lower.h"
#include "ir/passes/prune.h"
#include "tests/ir/fake_kernels.h"
#include "tests/ir/graph_fixture.h"

namespace oa::ir {
namespace {

Program Lower(const Graph& graph, const KernelPack& pack) {
  Program program = Must(LowerGraph(graph, Must(Prune(graph)), pack, DeviceProfile()));
  const absl::Status status = VerifyProgram(program, "lower");
  REQUIRE_MESSAGE(status.ok(), status.ToString(), "\n", DumpProgram(program));
  return program;
}

std::vector<std::string> Labels(const Program& program) {
  std::vector<std::string> labels;
  for (const Dispatch& dispatch : program.dispatches) labels.push_back(dispatch.label);
  return labels;
}

const PlanBuffer& OutputBuffer(const Program& program, size_t i) {
  return program.buffers[program.outputs[i].buffer];
}

using Strings = std::vector<std::string>;

// ---- prune ----

TEST_CASE("prune keeps what outputs and persistent writes need") {
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {4});
  const ValueId p = Declare(graph, BufferKind::kParameter, "p", {4});
  const ValueId needed = Call(graph, "relu", {x});  // node 0
  Call(graph, "neg", {x});                          // node 1: nobody asks
  const ValueId delta = Call(graph, "exp", {x});    // node 2: feeds a state
  Call(graph, "accumulate", {p, delta});            // node 3
  const ValueId t = Call(graph, "abs", {x});        // node 4
  Call(graph, "accumulate", {t, x});                // node 5: a transient nobody reads again
  REQUIRE(graph.AddOutput("y", needed).ok());
  CHECK_EQ(Must(Prune(graph)), std::vector<NodeId>{0, 2, 3});
}

TEST_CASE("a view of a parameter does not write it") {
  Graph graph("g");
  const ValueId p = Declare(graph, BufferKind::kParameter, "p", {4});
  Call(graph, "detach", {p});
  CHECK(Must(Prune(graph)).empty());
}

// ---- buffers, inputs and outputs ----

TEST_CASE("an output owns the transient it names") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {4});
  REQUIRE(graph.AddOutput("y", Call(graph, "detach", {Call(graph, "relu", {x})})).ok());
  const Program program = Lower(graph, pack);
  CHECK_EQ(Labels(program), Strings{"relu"});
  REQUIRE_EQ(program.buffers.size(), 2);
  CHECK_EQ(program.buffers[1].kind, BufferKind::kOutput);
  CHECK_EQ(program.buffers[1].name, "y");
}

TEST_CASE("two names of one value share a buffer") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {4});
  const ValueId y = Call(graph, "relu", {x});
  REQUIRE(graph.AddOutput("y", y).ok());
  REQUIRE(graph.AddOutput("z", Call(graph, "detach", {y})).ok());
  const Program program = Lower(graph, pack);
  CHECK_EQ(Labels(program), Strings{"relu"});
  CHECK_EQ(program.outputs[0].buffer, program.outputs[1].buffer);
}

TEST_CASE("inputs and parameters are copied to the outputs that name them") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {4});
  const ValueId p = Declare(graph, BufferKind::kParameter, "p", {4});
  const ValueId updated = Call(graph, "accumulate", {p, x});
  REQUIRE(graph.AddOutput("same", x).ok());
  REQUIRE(graph.AddOutput("old", p).ok());
  REQUIRE(graph.AddOutput("new", updated).ok());
  const Program program = Lower(graph, pack);
  CHECK_EQ(Labels(program), Strings{"copy", "copy", "accumulate", "copy"});
  for (size_t i = 0; i < 3; ++i) CHECK_EQ(OutputBuffer(program, i).kind, BufferKind::kOutput);
}

TEST_CASE("an overwritten version is copied before it is lost") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {4});
  const ValueId first = Call(graph, "relu", {x});
  REQUIRE(graph.AddOutput("first", first).ok());
  REQUIRE(graph.AddOutput("second", Call(graph, "accumulate", {first, x})).ok());
  const Program program = Lower(graph, pack);
  CHECK_EQ(Labels(program), Strings{"relu", "copy", "accumulate"});
  CHECK_NE(program.outputs[0].buffer, program.outputs[1].buffer);
}

TEST_CASE("a later version that nobody needs does not force a copy") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {4});
  const ValueId first = Call(graph, "relu", {x});
  REQUIRE(graph.AddOutput("first", first).ok());
  Call(graph, "accumulate", {first, x});
  CHECK_EQ(Labels(Lower(graph, pack)), Strings{"relu"});
}

TEST_CASE("odd numbers of small elements are copied by a kernel") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId bytes = Declare(graph, BufferKind::kInput, "bytes", {5}, U8);
  const ValueId words = Declare(graph, BufferKind::kInput, "words", {6}, BF16);
  REQUIRE(graph.AddOutput("b", bytes).ok());
  REQUIRE(graph.AddOutput("w", words).ok());
  const Program program = Lower(graph, pack);
  REQUIRE_EQ(program.dispatches.size(), 2);
  CHECK_EQ(program.dispatches[0].kernel, pack.Find("cast"));
  CHECK_EQ(program.dispatches[0].constants, std::vector<uint32_t>{3, 3});
  REQUIRE(program.dispatches[1].elementwise);
  CHECK_EQ(program.dispatches[1].elementwise->count, 3);
  CHECK_EQ(program.dispatches[1].elementwise->inputs[0].type, OA_EW_TYPE_RAW);
}

TEST_CASE("inputs and persistent storages stay even when nothing touches them") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  Declare(graph, BufferKind::kInput, "x", {4});
  const ValueId p = Declare(graph, BufferKind::kParameter, "p", {2});
  Declare(graph, BufferKind::kConstant, "c", {3});
  REQUIRE(graph.SetInitialFill(p, 7, "seven").ok());
  const Program program = Lower(graph, pack);
  REQUIRE_EQ(program.buffers.size(), 3);
  CHECK_EQ(program.inputs.size(), 1);
  CHECK_EQ(program.buffers[1].fill_bits, 7);
  CHECK_EQ(program.buffers[2].kind, BufferKind::kConstant);
}

TEST_CASE("nodes over empty values need no dispatch") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "x", {0, 3});
  REQUIRE(graph.AddOutput("y", Call(graph, "relu", {x})).ok());
  REQUIRE(graph.AddOutput("x again", x).ok());
  CHECK(Lower(graph, pack).dispatches.empty());
}

TEST_CASE("values that kernels cannot address are refused by name") {
  const KernelPack pack = FakePack();
  Graph graph("g");
  const ValueId x = Declare(graph, BufferKind::kInput, "huge", {1 << 16, 1 << 15});
  REQUIRE(graph.AddOutput("y", Call(graph, "relu", {x})).ok());
  OA_CHECK_STATUS(LowerGraph(graph, Must(Prune(graph)), pack, DeviceProfile()).status(),
                  kUnimplemented, "'huge' f32[65536, 32768] has 2147483648 elements");
}

// ---- LowerContext ----

struct ContextFixture {
  explicit ContextFixture(const KernelPack& pack, DeviceProfile device = {})
      : profile(std::move(device)), context(Make(pack)) {}

  LowerContext Make(const KernelPack& pack) {
    const ValueId x = Declare(graph, BufferKind::kInput, "x", {2, 3});
    Call(graph, "relu", {x});
    program.buffers.resize(2);
    for (PlanBuffer& buffer : program.buffers) buffer.size_bytes = 24;
    return LowerContext(graph, 0, pack, profile, program, buffers);
  }

  Graph graph{"g"};
  DeviceProfile profile;
  Program program;
  std::vector<int32_t> buffers = {0, 1};
  LowerContext context;
};

TEST_CASE("Emit checks a call against the kernel's row") {
  const KernelPack pack = FakePack();
  ContextFixture f(pack);
  const Kernel* update = pack.Find("update_f32");
  const auto call = [&](uint64_t records, uint64_t count) {
    KernelCall result(update);
    result.Buffer(f.context.in(0)).U32(records).U32(1);
    result.Buffer(f.context.out()).Buffer(f.context.in(0)).U32(0).U32(1).U32(count);
    return result;
  };
  REQUIRE(f.context.Emit(call(1, 6)).ok());
  const Dispatch& dispatch = f.program.dispatches[0];
  CHECK_EQ(dispatch.label, "relu");
  CHECK_EQ(dispatch.nodes, std::vector<uint32_t>{0});
  CHECK_EQ(dispatch.arguments[3].access, Access::kReadWrite);
  OA_CHECK_STATUS(f.context.Emit(call(2, 6)), kInternal,
                  "relu#0 lowered to kernel 'update_f32': got 8 arguments");
  OA_CHECK_STATUS(f.context.Emit(call(1, uint64_t{1} << 32)), kUnimplemented, "exceeds 2^32-1");
  OA_CHECK_STATUS(f.context.Emit(call(1, 6).Constant("nonsense", 1)), kInternal, "'nonsense'");
  OA_CHECK_STATUS(f.context.Emit(call(1, 6).Grid(1, 70000)), kInternal, "axis 1");
  KernelCall wrong_kind(update);
  wrong_kind.U32(1).U32(1).U32(1).NullBuffer().NullBuffer().U32(0).U32(1).U32(1);
  OA_CHECK_STATUS(f.context.Emit(std::move(wrong_kind)), kInternal, "argument 0 'rate'");
  KernelCall no_epilogue(pack.Find("product_f32"));
  no_epilogue.Buffer(f.context.in(0)).Buffer(f.context.in(0)).U32(6);
  OA_CHECK_STATUS(f.context.Emit(std::move(no_epilogue)), kInternal, "needs an epilogue");
  KernelCall no_prologue(pack.Find("norm_f32"));
  no_prologue.Buffer(f.context.in(0)).U32(6).Epilogue(f.context.out());
  OA_CHECK_STATUS(f.context.Emit(std::move(no_prologue)), kInternal, "needs a prologue");
  KernelCall prologue(pack.Find("product_f32"));
  prologue.Buffer(f.context.in(0)).Buffer(f.context.in(0)).U32(6);
  prologue.Prologue(f.context.in(0)).Epilogue(f.context.out());
  OA_CHECK_STATUS(f.context.Emit(std::move(prologue)), kInternal, "has no prologue");
}

TEST_CASE("a long one-dimensional grid is folded") {
  const KernelPack pack = FakePack();
  ContextFixture f(pack);
  KernelCall call(pack.Find("cast"));
  call.Buffer(f.context.in(0)).Buffer(f.context.out()).U32(6).Grid(200000);
  REQUIRE(f.context.Emit(std::move(call)).ok());
  CHECK_EQ(f.program.dispatches[0].grid, std::array<uint32_t, 3>{50000, 4, 1});
}

TEST_CASE("a missing kernel is reported with operator, operands and neighbours") {
  const KernelPack pack = FakePack();
  ContextFixture f(pack);
  const absl::Status status = f.context.Select("updates_f32").status();
  OA_CHECK_STATUS(status, kUnimplemented, "relu#0(f32[2, 3])");
  OA_CHECK_STATUS(status, kUnimplemented, "'updates_f32'");
  OA_CHECK_STATUS(status, kUnimplemented, "'update_f32'");
}

TEST_CASE("scratch memory is a transient") {
  const KernelPack pack = FakePack();
  ContextFixture f(pack);
  const BufferSlice scratch = f.context.Scratch("partial", F32, {3, 2});
  CHECK_EQ(scratch.size_bytes, 24);
  CHECK_EQ(f.program.buffers[scratch.buffer].name, "relu#0.partial");
  CHECK_EQ(f.program.buffers[scratch.buffer].kind, BufferKind::kTransient);
}

// ---- grids ----

TEST_CASE("group counts follow the device") {
  const Kernel kernel = FakeKernel("k", 64);
  DeviceProfile gpu;
  CHECK_EQ(StridedGroupCount(gpu, kernel, 0), 1);
  CHECK_EQ(StridedGroupCount(gpu, kernel, 6401), 101);
  CHECK_EQ(RowGroupCount(gpu, 100000), 65535);
  DeviceProfile cpu;
  cpu.is_cpu = true;
  CHECK_EQ(StridedGroupCount(cpu, kernel, 1 << 20), 32);
  cpu.compute_units = 2;
  CHECK_EQ(StridedGroupCount(cpu, kernel, 1 << 20), 8);
  CHECK_EQ(StridedGroupCount(cpu, kernel, 64), 1);
  CHECK_EQ(RowGroupCount(cpu, 100), 16);
}

TEST_CASE("loops of an invocation stay in the budget of CPU devices") {
  const KernelPack pack = FakePack();
  DeviceProfile cpu;
  cpu.is_cpu = true;
  ContextFixture on_cpu(pack, cpu), on_gpu(pack);
  const Kernel& kernel = *pack.Find("cast");  // 64 invocations
  CHECK_EQ(*on_cpu.context.RowGroups(100, 10), 64);
  CHECK_EQ(*on_cpu.context.RowGroups(1000000, 59), 1000);
  CHECK_EQ(*on_cpu.context.RowGroups(1000000, 59, 30000), 2000);
  CHECK_EQ(*on_cpu.context.RowGroups(70000, 59999), 70000);
  OA_CHECK_STATUS(on_cpu.context.RowGroups(1, 60000).status(), kUnimplemented,
                  "relu#0: an invocation would make 60001 loop iterations");
  OA_CHECK_STATUS(on_cpu.context.RowGroups(1, 1, 60000).status(), kUnimplemented, "60000");
  CHECK_EQ(*on_cpu.context.StridedGroups(kernel, 64 * 1000000, 599), 10000);
  CHECK_EQ(*on_gpu.context.RowGroups(1, 60000), 1);
  CHECK_EQ(*on_gpu.context.StridedGroups(kernel, 6401, 60000), 101);
}

TEST_CASE("folded grids hold all groups and stay within the limit") {
  DeviceProfile profile;
  for (uint64_t groups : {uint64_t{0}, uint64_t{1}, uint64_t{65535}, uint64_t{65536},
                          uint64_t{1} << 31, uint64_t{1} << 40}) {
    const std::array<uint32_t, 3> grid = FoldGrid(profile, groups);
    CHECK_GE(uint64_t{grid[0]} * grid[1] * grid[2], groups);
    for (uint32_t axis : grid) CHECK_LE(axis, 65535);
    for (uint32_t axis : grid) CHECK_GE(axis, 1);
  }
}

}  // namespace
}  // namespace oa::ir
