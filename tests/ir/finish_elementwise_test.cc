#include "ir/passes/finish_elementwise.h"

#include <doctest/doctest.h>

#include "ir/kernel_layout.h"
#include "tests/ir/interpreter.h"
#include "tests/ir/program_fixture.h"

namespace oa::ir {
namespace {

// The kernel chosen for y = x + other.
std::string KernelFor(uint64_t elements, EwInput other, ProgramFixture& f) {
  const auto x = f.Input("x", elements), y = f.Output("y", elements);
  f.Op2(OA_EW_ADD, y, ProgramFixture::Linear(x), std::move(other));
  f.Verify("test");
  const KernelPack pack = FakePack();
  const absl::Status status = FinishElementwise(f.program, pack, DeviceProfile());
  REQUIRE_MESSAGE(status.ok(), status.ToString());
  return f.program.dispatches[0].kernel->base;
}

TEST_CASE("vector kernels are used exactly where they are right") {
  const KernelPack pack = FakePack();
  const auto kernel = [&](uint64_t elements, uint64_t other, uint32_t div) {
    ProgramFixture f(pack);
    const auto slice = f.Input("other", other);
    return KernelFor(
        elements, div == 0 ? ProgramFixture::Linear(slice) : ProgramFixture::Periodic(slice, div),
        f);
  };
  CHECK_EQ(kernel(16, 16, 0), "elementwise_f32_s4_v4");
  CHECK_EQ(kernel(18, 18, 0), "elementwise_f32_s4");
  CHECK_EQ(kernel(16, 8, 1), "elementwise_f32_s4_v4");  // period a multiple of 4
  CHECK_EQ(kernel(12, 6, 1), "elementwise_f32_s4");     // a vector would cross the period
  CHECK_EQ(kernel(16, 2, 8), "elementwise_f32_s4_v4");  // one value for four elements
  CHECK_EQ(kernel(16, 8, 2), "elementwise_f32_s4");
}

TEST_CASE("long programs use the long kernel") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 6), y = f.Output("y", 6);
  EwProgram code;
  code.count = 6;
  code.inputs = {ProgramFixture::Linear(x)};
  for (uint8_t k = 0; k < 5; ++k) code.code.push_back({OA_EW_ADD_SCALAR, k, 0, 1.0f});
  code.outputs = {{5, y}};
  f.Add("sum", code);
  const Observed expected = Interpret(f.program);
  REQUIRE(FinishElementwise(f.program, pack, DeviceProfile()).ok());
  f.Verify("finish");
  CHECK_EQ(f.program.dispatches[0].kernel->base, "elementwise_f32_s16");
  CHECK_EQ(Interpret(f.program), expected);
}

TEST_CASE("the largest program survives encoding") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  EwProgram code;
  code.count = 6;
  for (int k = 0; k < OA_EW_MAX_INPUTS; ++k) {
    code.inputs.push_back(ProgramFixture::Linear(f.Input(absl::StrCat("x", k), 6)));
  }
  for (uint8_t k = 0; k < OA_EW_MAX_SLOTS; ++k) {
    const auto newest = static_cast<uint8_t>(OA_EW_MAX_INPUTS - 1 + k);
    const auto input = static_cast<uint8_t>(k % OA_EW_MAX_INPUTS);
    code.code.push_back({k % 2 == 0 ? uint8_t{OA_EW_SUB} : uint8_t{OA_EW_MUL}, newest, input, 0});
  }
  for (uint8_t k = 0; k < OA_EW_MAX_OUTPUTS; ++k) {
    const auto reg = static_cast<uint8_t>(OA_EW_MAX_INPUTS + OA_EW_MAX_SLOTS - 1 - 3 * k);
    code.outputs.push_back({reg, f.Output(absl::StrCat("y", k), 6)});
  }
  f.Add("large", code);
  f.Verify("test");
  const Observed expected = Interpret(f.program);
  REQUIRE(FinishElementwise(f.program, pack, DeviceProfile()).ok());
  f.Verify("finish");
  CHECK_EQ(Interpret(f.program), expected);
}

TEST_CASE("strided inputs carry extents and strides") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  const auto x = f.Input("x", 6), row = f.Input("row", 6), y = f.Output("y", 12);
  // [2, 1, 3] broadcast over [2, 2, 3].
  const EwInput broadcast = BroadcastInput(x, F32, {2, 1, 3}, {2, 2, 3});
  REQUIRE_EQ(broadcast.mode, OA_EW_STRIDED);
  EwProgram code;
  code.count = 12;
  code.extents = {2, 2, 3};
  code.inputs = {broadcast, ProgramFixture::Periodic(row, 1)};
  code.code = {{OA_EW_ADD, 0, 1, 0}};
  code.outputs = {{2, y}};
  f.Add("add", code);
  f.Verify("test");
  const Observed expected = Interpret(f.program);
  REQUIRE(FinishElementwise(f.program, pack, DeviceProfile()).ok());
  f.Verify("finish");
  const Dispatch& dispatch = f.program.dispatches[0];
  CHECK_EQ(dispatch.kernel->base, "elementwise_strided_f32_s16");
  const auto argument = [&](const char* name) {
    return dispatch.arguments[FindArgument(dispatch.kernel->arguments, name)].bits;
  };
  CHECK_EQ(argument("rank"), 3);
  CHECK_EQ(argument("extents2"), 3);
  CHECK_EQ(argument("extents3"), 1);
  CHECK_EQ(argument("strides0"), 3);
  CHECK_EQ(argument("strides1"), 0);
  CHECK_EQ(argument("strides2"), 1);
  CHECK_EQ(argument("len0"), 6);
  CHECK_EQ(Interpret(f.program), expected);
}

TEST_CASE("unused fields hold harmless values") {
  const KernelPack pack = FakePack();
  ProgramFixture f(pack);
  f.Op(OA_EW_NEG, f.Output("y", 4), f.Input("x", 4));
  REQUIRE(FinishElementwise(f.program, pack, DeviceProfile()).ok());
  const Dispatch& dispatch = f.program.dispatches[0];
  const std::vector<KernelArgument>& row = dispatch.kernel->arguments;
  for (const char* name : {"div1", "mod1", "len1"}) {
    CHECK_EQ(dispatch.arguments[FindArgument(row, name)].bits, 1);
  }
  for (const char* name : {"in1", "out1"}) {
    CHECK_EQ(dispatch.arguments[FindArgument(row, name)].slice.size_bytes, 0);
  }
  CHECK_EQ(dispatch.grid, std::array<uint32_t, 3>{1, 1, 1});
}

TEST_CASE("a kernel with an unknown field is refused") {
  Kernel kernel = FakeElementwise("elementwise_f32_s4_v4", false);
  kernel.arguments.push_back(FakeScalar("surprise"));
  const KernelPack pack({kernel}, "none");
  ProgramFixture f(pack);
  f.Op(OA_EW_NEG, f.Output("y", 4), f.Input("x", 4));
  const absl::Status status = FinishElementwise(f.program, pack, DeviceProfile());
  CHECK_EQ(status.code(), absl::StatusCode::kInternal);
  CHECK_NE(status.ToString().find("'surprise'"), std::string::npos);
}

TEST_CASE("a pack without elementwise kernels is reported with the operator") {
  const KernelPack pack({FakeProduct()}, "none");
  ProgramFixture f(pack);
  f.Op(OA_EW_NEG, f.Output("y", 4), f.Input("x", 4));
  const absl::Status status = FinishElementwise(f.program, pack, DeviceProfile());
  CHECK_EQ(status.code(), absl::StatusCode::kUnimplemented);
  CHECK_NE(status.ToString().find("neg"), std::string::npos);
}

}  // namespace
}  // namespace oa::ir
