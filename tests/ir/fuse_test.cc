#include "ir/passes/fuse.h"

#include <doctest/doctest.h>

#include "tests/ir/interpreter.h"
#include "tests/ir/program_fixture.h"

namespace oa::ir {
namespace {

using Labels = std::vector<std::string>;

// Fuses, verifies, and checks that nothing observable changed.
std::vector<FusionNote> FuseAndCheck(ProgramFixture& f) {
  f.Verify("test");
  const Observed expected = Interpret(f.program);
  std::vector<FusionNote> notes = Fuse(f.program, DeviceProfile());
  f.Verify("fuse");
  CHECK_EQ(Interpret(f.program), expected);
  return notes;
}

TEST_CASE("a chain becomes one dispatch and its values vanish") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), y = f.Output("y", 8);
  const auto t0 = f.Transient(8), t1 = f.Transient(8);
  f.Op(OA_EW_SCALE, t0, x, 2);
  f.Op2(OA_EW_ADD, t1, t0, x);
  f.Op(OA_EW_RELU, y, t1);
  const std::vector<FusionNote> notes = FuseAndCheck(f);
  CHECK_EQ(f.Labels(), Labels{"scale+add+relu"});
  CHECK_EQ(f.program.buffers.size(), 2);
  REQUIRE_EQ(notes.size(), 1);
  CHECK_EQ(notes[0].what, "scale+add+relu");
  CHECK_EQ(notes[0].rule, "chain");
  // Before: 2 + 3 + 2 times 32 bytes; after: x and y once.
  CHECK_EQ(notes[0].bytes_saved, 5 * 32);
  CHECK_EQ(f.program.dispatches[0].nodes, std::vector<uint32_t>{0, 1, 2});
}

TEST_CASE("a value that others need is stored by the fused dispatch") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), y = f.Output("y", 8), z = f.Output("z", 8);
  const auto t = f.Transient(8);
  f.Op(OA_EW_SCALE, t, x, 2);
  f.Op(OA_EW_RELU, y, t);
  f.Product(z, t, x);
  FuseAndCheck(f);
  REQUIRE_EQ(f.Labels(), Labels{"scale+relu", "product"});
  CHECK_EQ(f.program.dispatches[0].elementwise->outputs.size(), 2);
}

TEST_CASE("a broadcast read of the producer is no chain") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), y = f.Output("y", 8), t = f.Transient(8);
  f.Op(OA_EW_SCALE, t, x, 2);
  f.Op2(OA_EW_ADD, y, ProgramFixture::Linear(t), ProgramFixture::Scalar(t));
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("a read of half of the producer is no chain") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), y = f.Output("y", 4), t = f.Transient(8);
  f.Op(OA_EW_SCALE, t, x, 2);
  f.Op(OA_EW_RELU, y, BufferSlice{t.buffer, 16, 16});
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("fusion does not pass a dispatch that conflicts") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), y = f.Output("y", 8), t = f.Transient(8);
  const auto p = f.Buffer(BufferKind::kParameter, "p", 8);
  f.Op2(OA_EW_ADD, t, x, p);
  f.Product(p, x, x);         // overwrites what the first read ...
  f.Op2(OA_EW_MUL, y, t, p);  // ... and makes what the last reads
  CHECK_EQ(FuseAndCheck(f).size(), 1);
  CHECK_EQ(f.Labels(), Labels{"add", "product+mul"});
}

TEST_CASE("an update in place joins the chain that feeds it") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), t = f.Transient(8);
  const auto p = f.Buffer(BufferKind::kParameter, "p", 8);
  f.Op(OA_EW_SCALE, t, x, 0.5f);
  f.Op2(OA_EW_ADD, p, p, t);
  FuseAndCheck(f);
  CHECK_EQ(f.Labels(), Labels{"scale+add"});
}

TEST_CASE("a broadcast read of memory that the fused dispatch would write prevents fusion") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), t = f.Transient(8);
  const auto p = f.Buffer(BufferKind::kParameter, "p", 8);
  f.Op2(OA_EW_ADD, t, ProgramFixture::Linear(x), ProgramFixture::Scalar(p));
  f.Op(OA_EW_RELU, p, t);
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("a product takes bias, activation and residual into its epilogue") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto a = f.Input("a", 8), b = f.Input("b", 8), bias = f.Input("bias", 4);
  const auto c = f.Transient(8), h = f.Transient(8), r = f.Transient(8), y = f.Output("y", 8);
  f.Product(c, a, b);
  f.Op2(OA_EW_ADD, h, ProgramFixture::Linear(c), ProgramFixture::Periodic(bias, 1));
  f.Op(OA_EW_RELU, r, h);
  f.Op2(OA_EW_ADD, y, r, a);
  // The residual reads an operand of the product, which is fine; only writing one is not.
  const std::vector<FusionNote> notes = FuseAndCheck(f);
  REQUIRE_EQ(f.Labels(), Labels{"product+add+relu+add"});
  const EwProgram& epilogue = *f.program.dispatches[0].epilogue;
  CHECK_EQ(epilogue.inputs.size(), 3);
  CHECK_EQ(epilogue.code.size(), 3);
  CHECK_EQ(notes[0].rule, "epilogue");
}

TEST_CASE("an epilogue never writes an operand of its product") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), c = f.Transient(8);
  const auto p = f.Buffer(BufferKind::kParameter, "p", 8);
  f.Product(c, x, p);
  f.Op2(OA_EW_ADD, p, p, c);
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("a pre-activation that the backward pass needs is the second output") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto a = f.Input("a", 8), g = f.Input("g", 8), y = f.Output("y", 8), d = f.Output("d", 8);
  const auto c = f.Transient(8), t = f.Transient(8);
  f.Product(c, a, a);
  f.Op(OA_EW_RELU, y, c);
  f.Product(t, y, g);
  f.Op2(OA_EW_RELU_BWD, d, c, t);
  FuseAndCheck(f);
  REQUIRE_EQ(f.Labels(), Labels{"product+relu", "product+relu_bwd"});
  CHECK_EQ(f.program.dispatches[0].epilogue->outputs.size(), 2);
}

TEST_CASE("epilogues stay within their limits and the rest forms a chain") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto a = f.Input("a", 8);
  auto value = f.Transient(8);
  f.Product(value, a, a);
  for (int i = 0; i < 11; ++i) {
    const auto next = i == 10 ? f.Output("y", 8) : f.Transient(8);
    f.Op(OA_EW_ADD_SCALAR, next, value, static_cast<float>(i));
    value = next;
  }
  FuseAndCheck(f);
  REQUIRE_EQ(f.program.dispatches.size(), 2);
  CHECK_EQ(f.program.dispatches[0].epilogue->code.size(), 8);
  CHECK_EQ(f.program.dispatches[1].elementwise->code.size(), 3);
}

TEST_CASE("a norm takes the residual in front of it and stores the sum that others need") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), r = f.Input("r", 8), w = f.Input("w", 1);
  const auto sum = f.Transient(8), y = f.Output("y", 8), z = f.Output("z", 8);
  f.Op2(OA_EW_ADD, sum, x, r);
  f.Norm(y, sum, w);
  f.Product(z, sum, x);
  const std::vector<FusionNote> notes = FuseAndCheck(f);
  REQUIRE_EQ(f.Labels(), Labels{"add+norm", "product"});
  const EwProgram& prologue = *f.program.dispatches[0].prologue;
  REQUIRE_EQ(prologue.outputs.size(), 2);
  CHECK_EQ(prologue.outputs[0].slice.size_bytes, 0);
  CHECK_EQ(prologue.outputs[0].reg, prologue.outputs[1].reg);
  REQUIRE_EQ(notes.size(), 1);
  CHECK_EQ(notes[0].rule, "prologue");
  CHECK_EQ(notes[0].bytes_saved, 32);  // one read of the sum
}

TEST_CASE("a norm takes scale and mask in front of it and an activation behind it") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), mask = f.Input("mask", 4), w = f.Input("w", 1);
  const auto t0 = f.Transient(8), t1 = f.Transient(8), t2 = f.Transient(8), y = f.Output("y", 8);
  f.Op(OA_EW_SCALE, t0, x, 0.5f);
  f.Op2(OA_EW_ADD, t1, ProgramFixture::Linear(t0), ProgramFixture::Periodic(mask, 1));
  f.Norm(t2, t1, w);
  f.Op(OA_EW_RELU, y, t2);
  const std::vector<FusionNote> notes = FuseAndCheck(f);
  CHECK_EQ(f.Labels(), Labels{"scale+add+norm+relu"});
  REQUIRE_EQ(notes.size(), 1);
  CHECK_EQ(notes[0].rule, "epilogue, prologue");
  CHECK_EQ(notes[0].bytes_saved, 3 * 64);
}

TEST_CASE("a residual between a product and a norm stays with the product") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), w = f.Input("w", 1);
  const auto c = f.Transient(8), sum = f.Transient(8), y = f.Output("y", 8);
  f.Product(c, x, x);
  f.Op2(OA_EW_ADD, sum, c, x);
  f.Norm(y, sum, w);
  FuseAndCheck(f);
  CHECK_EQ(f.Labels(), Labels{"product+add", "norm"});
}

TEST_CASE("a prologue leaves alone what the kernel sees besides") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), r = f.Input("r", 8), a = f.Input("a", 8), b = f.Input("b", 8);
  const auto t = f.Transient(8), u = f.Transient(8), y = f.Output("y", 8), z = f.Output("z", 8);
  f.Op2(OA_EW_ADD, t, x, r);
  f.Norm(y, t, t);  // its weight is a part of its operand
  f.Op2(OA_EW_MUL, u, a, b);
  f.Norm(z, u, x);
  f.Op2(OA_EW_ADD, f.Output("last", 8), z, u);  // the epilogue reads u
  FuseAndCheck(f);
  CHECK_EQ(f.Labels(), Labels{"add", "norm", "mul", "norm+add"});
}

TEST_CASE("a prologue never writes what its kernel reads") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), w = f.Input("w", 1), y = f.Output("y", 8);
  const auto p = f.Buffer(BufferKind::kParameter, "p", 8);
  f.Op2(OA_EW_ADD, p, p, x);
  f.Norm(y, p, w);
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("prologues stay within their limits and the rest forms a chain") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto w = f.Input("w", 1);
  auto value = f.Input("x", 8);
  for (int i = 0; i < 6; ++i) {
    const auto next = f.Transient(8);
    f.Op(OA_EW_ADD_SCALAR, next, value, static_cast<float>(i));
    value = next;
  }
  f.Norm(f.Output("y", 8), value, w);
  FuseAndCheck(f);
  REQUIRE_EQ(f.program.dispatches.size(), 2);
  CHECK_EQ(f.program.dispatches[0].elementwise->code.size(), 2);
  CHECK_EQ(f.program.dispatches[1].prologue->code.size(), 4);
}

TEST_CASE("a prologue has only cheap instructions on F32 inputs") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), w = f.Input("w", 1), t = f.Transient(8), u = f.Transient(8);
  f.Op(OA_EW_TANH, t, x);
  f.Norm(f.Output("y", 8), t, w);
  f.Op(OA_EW_COPY, u, ProgramFixture::Linear(f.Input("i", 8), OA_EW_TYPE_I32));
  f.Norm(f.Output("z", 8), u, w);
  CHECK(Fuse(f.program, DeviceProfile()).empty());
}

TEST_CASE("a stored operand does not wait for what the kernel needs besides") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), t = f.Transient(8), w = f.Transient(8);
  f.Product(w, x, x);
  f.Op(OA_EW_SCALE, t, x, 2);
  f.Norm(f.Output("y", 8), t, w);
  f.Product(f.Output("z", 8), t, x);
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("siblings of one stage share their input") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto g = f.Input("g", 8), x = f.Input("x", 8), w = f.Input("w", 8);
  f.Op2(OA_EW_MUL, f.Output("dx", 8), g, w);
  f.Op2(OA_EW_MUL, f.Output("dw", 8), g, x);
  const std::vector<FusionNote> notes = FuseAndCheck(f);
  CHECK_EQ(f.Labels(), Labels{"mul+mul"});
  CHECK_EQ(notes[0].rule, "sibling");
  CHECK_EQ(notes[0].bytes_saved, 32);
}

TEST_CASE("readers of one input at different depths stay apart") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), t = f.Transient(8);
  f.Op(OA_EW_RELU, f.Output("early", 8), x);
  f.Product(t, x, x);
  f.Product(f.Output("t2", 8), t, x);
  // Not an epilogue: the second product reads t as well and must not wait.
  f.Op2(OA_EW_ADD, f.Output("late", 8), ProgramFixture::Linear(x), ProgramFixture::Scalar(t));
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("a kept value does not wait for what its consumer needs besides") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), t = f.Transient(8);
  auto slow = f.Transient(8);
  f.Product(slow, x, x);
  for (int i = 0; i < 3; ++i) {
    const auto next = f.Transient(8);
    f.Product(next, slow, x);
    slow = next;
  }
  f.Op(OA_EW_SCALE, t, x, 2);
  f.Op2(OA_EW_MUL, f.Output("y", 8), ProgramFixture::Linear(t), ProgramFixture::Scalar(slow));
  f.Product(f.Output("z", 8), t, x);
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("updates of many parameters become one dispatch") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto rate = f.Input("rate", 4), x = f.Input("x", 32);
  for (int i = 0; i < 3; ++i) {
    const uint64_t elements = 8 + 8 * static_cast<uint64_t>(i);
    const auto p = f.Buffer(BufferKind::kParameter, absl::StrCat("p", i), elements);
    const auto g = f.Transient(elements);
    const BufferSlice part = {x.buffer, 0, elements * 4};
    f.Product(g, part, part);
    f.Update(p, g, rate);
  }
  const std::vector<FusionNote> notes = FuseAndCheck(f);
  CHECK_EQ(f.Labels(), Labels{"product", "product", "product", "update x 3"});
  const Dispatch& update = f.program.dispatches.back();
  CHECK_EQ(update.arguments[1].bits, 3);           // record_count
  CHECK_EQ(update.arguments[2].bits, 1 + 2 + 3);   // total_blocks
  CHECK_EQ(update.arguments[3 + 5 + 2].bits, 1);   // first_block of the second record
  CHECK_EQ(update.arguments[3 + 10 + 2].bits, 3);  // and of the third
  CHECK_EQ(update.grid, std::array<uint32_t, 3>{6, 1, 1});
  REQUIRE_EQ(notes.size(), 1);
  CHECK_EQ(notes[0].what, "update x 3");
  CHECK_EQ(notes[0].rule, "multi-tensor");
}

TEST_CASE("two updates of one parameter stay in order") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto rate = f.Input("rate", 4), g = f.Input("g", 8), h = f.Input("h", 8);
  const auto p = f.Buffer(BufferKind::kParameter, "p", 8);
  f.Update(p, g, rate);
  f.Update(p, h, rate);
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("updates with different leading arguments stay apart") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto r0 = f.Input("r0", 4), r1 = f.Input("r1", 4), g = f.Input("g", 8);
  f.Update(f.Buffer(BufferKind::kParameter, "p", 8), g, r0);
  f.Update(f.Buffer(BufferKind::kParameter, "q", 8), g, r1);
  CHECK(FuseAndCheck(f).empty());
}

TEST_CASE("shared instructions are computed once and copies vanish") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), y = f.Output("y", 8);
  const auto t0 = f.Transient(8), t1 = f.Transient(8), t2 = f.Transient(8);
  f.Op(OA_EW_RELU, t0, x);
  f.Op(OA_EW_RELU, t1, x);
  f.Op(OA_EW_COPY, t2, t1);
  f.Op2(OA_EW_ADD, y, t0, t2);
  FuseAndCheck(f);
  REQUIRE_EQ(f.program.dispatches.size(), 1);
  CHECK_EQ(f.program.dispatches[0].elementwise->code.size(), 2);
}

TEST_CASE("ten thousand dispatches fuse in a moment") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8);
  auto value = x;
  for (int i = 0; i < 5000; ++i) {
    const auto c = f.Transient(8), next = f.Transient(8);
    f.Product(c, value, x);
    f.Op2(OA_EW_ADD, next, c, x);
    value = next;
  }
  f.Op(OA_EW_RELU, f.Output("y", 8), value);
  FuseAndCheck(f);
  CHECK_EQ(f.program.dispatches.size(), 5000);
}

}  // namespace
}  // namespace oa::ir
