#include "ir/program.h"

#include <doctest/doctest.h>

#include <functional>

#include "absl/strings/match.h"
#include "ir/passes/place.h"
#include "ir/passes/schedule.h"
#include "tests/ir/program_fixture.h"

namespace oa::ir {
namespace {

// VerifyProgram must refuse the program after `damage`, with `text` in the message.
void Refused(const std::function<void(ProgramFixture&)>& build, const char* text) {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  build(f);
  const absl::Status status = VerifyProgram(f.program, "fuse");
  CHECK_EQ(status.code(), absl::StatusCode::kInternal);
  CHECK_MESSAGE(absl::StrContains(status.message(), text), status.ToString());
  CHECK(absl::StrContains(status.message(), "after pass 'fuse'"));
}

TEST_CASE("the verifier finds wrong slices and accesses") {
  Refused([](ProgramFixture& f) { f.Op(OA_EW_NEG, f.Output("y", 4), f.Transient(4)); },
          "before anything has written it");
  Refused(
      [](ProgramFixture& f) {
        const auto x = f.Input("x", 8);
        f.Op(OA_EW_NEG, f.Output("y", 4), BufferSlice{x.buffer, 4, 16});
      },
      "16 bytes at 4");
  Refused(
      [](ProgramFixture& f) {
        const auto x = f.Input("x", 8);
        f.Op(OA_EW_NEG, f.Output("y", 8), BufferSlice{x.buffer, 16, 32});
      },
      "32 bytes at 16 of the 32");
  Refused(
      [](ProgramFixture& f) {
        f.Op(OA_EW_NEG, f.Buffer(BufferKind::kConstant, "c", 4), f.Input("x", 4));
      },
      "writes the constant");
  Refused([](ProgramFixture& f) { f.Output("y", 4); }, "an output that nothing writes");
}

TEST_CASE("the verifier finds malformed elementwise programs") {
  const auto damaged = [](const std::function<void(EwProgram&)>& damage, const char* text) {
    Refused(
        [&](ProgramFixture& f) {
          f.Op2(OA_EW_ADD, f.Output("y", 4), f.Input("x", 4), f.Input("z", 4));
          damage(*f.program.dispatches[0].elementwise);
        },
        text);
  };
  damaged([](EwProgram& p) { p.code[0].b = 2; }, "a register that is not set yet");
  damaged([](EwProgram& p) { p.outputs[0].reg = 9; }, "output 0 names register");
  damaged([](EwProgram& p) { p.count = 5; }, "input 0 reads 5 elements");
  damaged([](EwProgram& p) { p.outputs.push_back(p.outputs[0]); }, "outputs 0 and 1 overlap");
  damaged([](EwProgram& p) { p.code.resize(17, p.code[0]); }, "17 instructions");
  damaged([](EwProgram& p) { p.inputs[1].mode = OA_EW_STRIDED; }, "0 strides for 0 extents");
  damaged(
      [](EwProgram& p) {
        p.inputs[1].mode = OA_EW_PERIODIC;
        p.inputs[1].div = 0;
      },
      "divisor of 0");
}

TEST_CASE("the verifier finds races inside a dispatch") {
  Refused(
      [](ProgramFixture& f) {
        const auto p = f.Buffer(BufferKind::kState, "p", 8);
        f.Op2(OA_EW_ADD, p, ProgramFixture::Linear(p), ProgramFixture::Scalar(p));
      },
      "that other invocations read");
  Refused(
      [](ProgramFixture& f) {
        const auto p = f.Buffer(BufferKind::kState, "p", 8);
        f.Product(p, p, f.Input("x", 8));
      },
      "covers an argument of the kernel");
}

TEST_CASE("the verifier finds calls that do not fit their kernel") {
  Refused(
      [](ProgramFixture& f) {
        f.Product(f.Output("y", 4), f.Input("a", 4), f.Input("b", 4));
        f.program.dispatches[0].arguments.pop_back();
      },
      "has 2 arguments, kernel 'product_f32' takes 3");
  Refused(
      [](ProgramFixture& f) {
        f.Product(f.Output("y", 4), f.Input("a", 4), f.Input("b", 4));
        f.program.dispatches[0].arguments[1].access = Access::kWrite;
      },
      "argument 1 'b' has another kind or access");
  Refused(
      [](ProgramFixture& f) {
        f.Product(f.Output("y", 4), f.Input("a", 4), f.Input("b", 4));
        f.program.dispatches[0].constants.pop_back();
      },
      "constants");
}

// x -> a -> y, scheduled and placed.
void BuildPlaced(ProgramFixture& f) {
  const auto x = f.Input("x", 64), a = f.Transient(64), b = f.Transient(64);
  f.Product(a, x, x);
  f.Product(b, x, x);
  f.Product(f.Output("y", 64), a, b);
  Schedule(f.program);
  REQUIRE(Place(f.program, DeviceProfile(), {}).ok());
  f.Verify("place");
}

TEST_CASE("the verifier finds conflicts inside a stage") {
  Refused(
      [](ProgramFixture& f) {
        BuildPlaced(f);
        f.program.dispatches[2].stage = 0;
      },
      "conflicts with dispatch 0 of its stage");
  Refused(
      [](ProgramFixture& f) {
        BuildPlaced(f);
        f.program.dispatches[0].stage = 1;
      },
      "behind one of stage 1");
}

TEST_CASE("the verifier finds overlapping places") {
  Refused(
      [](ProgramFixture& f) {
        BuildPlaced(f);
        f.program.buffers[2].offset = f.program.buffers[1].offset;
      },
      "overlaps another buffer");
  Refused(
      [](ProgramFixture& f) {
        BuildPlaced(f);
        f.program.buffers[2].offset = 1 << 20;
      },
      "outside its arena");
}

TEST_CASE("unused transients are dropped and the rest renumbered") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  f.Transient(4);
  const auto x = f.Input("x", 4);
  f.Transient(4);
  f.Op(OA_EW_NEG, f.Output("y", 4), x);
  DropUnusedTransients(f.program);
  f.Verify("drop");
  CHECK_EQ(f.program.buffers.size(), 2);
  CHECK_EQ(f.program.inputs[0].buffer, 0);
  CHECK_EQ(f.program.outputs[0].buffer, 1);
}

TEST_CASE("bytes moved count a slice once") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 4);
  f.Op2(OA_EW_MUL, f.Output("y", 4), x, x);
  CHECK_EQ(BytesRead(f.program.dispatches[0]), 16);
  CHECK_EQ(BytesWritten(f.program.dispatches[0]), 16);
}

TEST_CASE("the dump names buffers, modes and stages") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 8), b = f.Input("b", 4), y = f.Output("y", 8), t = f.Transient(8);
  f.Product(t, x, x);
  f.Op2(OA_EW_ADD, y, ProgramFixture::Linear(t), ProgramFixture::Periodic(b, 1));
  Schedule(f.program);
  const std::string text = DumpProgram(f.program);
  CHECK(absl::StrContains(text, "stage 0 product: product_f32 grid 1x1x1 (r b0'x', r b0'x')"));
  CHECK(absl::StrContains(text, "[8] {t0 = add(in0, in1); out0 = t0}"));
  CHECK(absl::StrContains(text, "in1: b1'b' periodic /1 %4"));
  CHECK(absl::StrContains(text, "output 'y' f32[8] in b2"));
}

}  // namespace
}  // namespace oa::ir
