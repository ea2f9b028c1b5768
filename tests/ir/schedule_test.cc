#include "ir/passes/schedule.h"

#include <doctest/doctest.h>

#include "ir/passes/dependencies.h"
#include "tests/ir/program_fixture.h"

namespace oa::ir {
namespace {

std::vector<uint32_t> Stages(const Program& program) {
  std::vector<uint32_t> stages;
  for (const Dispatch& dispatch : program.dispatches) stages.push_back(dispatch.stage);
  return stages;
}

TEST_CASE("independent dispatches share a stage, dependent ones do not") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), a = f.Transient(8), b = f.Transient(8);
  f.Product(a, x, x);
  f.Product(b, x, x);
  f.Product(f.Output("y", 8), a, b);
  Schedule(f.program);
  f.Verify("schedule");
  CHECK_EQ(Stages(f.program), std::vector<uint32_t>{0, 0, 1});
  CHECK_EQ(f.program.stage_count, 2);
}

TEST_CASE("disjoint halves of a buffer do not conflict, overlapping ranges do") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), y = f.Output("y", 16);
  const BufferSlice low = {y.buffer, 0, 32}, high = {y.buffer, 32, 32}, middle = {y.buffer, 16, 32};
  f.Product(low, x, x);
  f.Product(high, x, x);
  f.Op2(OA_EW_ADD, middle, middle, x);
  f.Product(f.Output("z", 8), low, high);
  Schedule(f.program);
  f.Verify("schedule");
  CHECK_EQ(Stages(f.program), std::vector<uint32_t>{0, 0, 1, 2});
}

TEST_CASE("a read waits for the write before it and holds up the write after it") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), p = f.Buffer(BufferKind::kParameter, "p", 8);
  f.Product(f.Output("before", 8), p, x);
  f.Op2(OA_EW_ADD, p, p, x);
  f.Product(f.Output("after", 8), p, x);
  Schedule(f.program);
  f.Verify("schedule");
  CHECK_EQ(Stages(f.program), std::vector<uint32_t>{0, 1, 2});
}

TEST_CASE("a large value that is used late is made late") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), big_input = f.Input("big_input", 256);
  const auto big = f.Transient(256);
  f.Product(big, big_input, big_input);
  auto value = x;
  for (uint64_t elements : {256, 256, 8}) {
    const auto next = f.Transient(elements);
    f.Product(BufferSlice{next.buffer, 0, 32}, value, x);
    value = {next.buffer, 0, 32};
  }
  f.Product(f.Output("y", 8), value, BufferSlice{big.buffer, 0, 32});
  Schedule(f.program);
  f.Verify("schedule");
  CHECK_EQ(f.program.stage_count, 4);
  CHECK_EQ(Stages(f.program), std::vector<uint32_t>{0, 1, 2, 2, 3});
  for (const Dispatch& dispatch : f.program.dispatches) {
    if (Overlap(Touches(dispatch).back().slice, big)) CHECK_EQ(dispatch.stage, 2);
  }
}

TEST_CASE("a dispatch that frees more than it makes is not delayed") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 64), big = f.Transient(64), small = f.Transient(4);
  f.Product(big, x, x);
  f.Product(small, BufferSlice{big.buffer, 0, 16}, BufferSlice{big.buffer, 16, 16});
  auto value = BufferSlice{x.buffer, 0, 16};
  for (int i = 0; i < 5; ++i) {
    const auto next = f.Transient(4);
    f.Product(next, value, value);
    value = next;
  }
  f.Product(f.Output("y", 4), value, small);
  Schedule(f.program);
  f.Verify("schedule");
  for (const Dispatch& dispatch : f.program.dispatches) {
    if (Overlap(Touches(dispatch)[0].slice, big)) CHECK_EQ(dispatch.stage, 1);
  }
}

TEST_CASE("scheduling keeps the list order inside a stage") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8);
  for (int i = 0; i < 4; ++i) f.Product(f.Output(absl::StrCat("y", i), 8), x, x);
  Schedule(f.program);
  for (uint32_t i = 0; i < 4; ++i) {
    CHECK_EQ(f.program.dispatches[i].nodes, std::vector<uint32_t>{i});
  }
}

TEST_CASE("an empty program has no stages") {
  Program program;
  Schedule(program);
  CHECK_EQ(program.stage_count, 0);
}

TEST_CASE("dependencies of ten thousand dispatches over one buffer") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), p = f.Buffer(BufferKind::kParameter, "p", 8);
  for (int i = 0; i < 100; ++i) {
    f.Op2(OA_EW_ADD, p, p, x);
    for (int k = 0; k < 99; ++k) f.Product(f.Transient(8), p, x);
  }
  const Dependencies dependencies = FindDependencies(f.program.dispatches);
  size_t edges = 0;
  for (const auto& before : dependencies.before) edges += before.size();
  CHECK_LT(edges, 4 * f.program.dispatches.size());
  Schedule(f.program);
  CHECK_EQ(f.program.stage_count, 200);
  f.Verify("schedule");
}

}  // namespace
}  // namespace oa::ir
