// Tensors, state elements and bound inputs on the command line.
#include "tools/common/tensor_arg.h"

#include <doctest/doctest.h>

#include <cstring>

#include "absl/strings/match.h"
#include "schema/plan.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/bind_inputs.h"
#include "tools/common/element.h"
#include "tools/common/exit_codes.h"
#include "tools/common/set_element.h"

namespace oa::tools {
namespace {

std::string Load(const std::string& text, DType dtype, const Shape& shape) {
  const auto arg = ParseTensorArg(text);
  if (!arg.ok()) return std::string(arg.status().message());
  const auto data = LoadTensor(*arg, dtype, shape);
  if (!data.ok()) return std::string(data.status().message());
  return FirstElements(dtype, data->bytes(), 8);
}

TEST_CASE("tensor argument: typed, untyped and repeated values") {
  CHECK_EQ(Load("x=4xi32=1,-2,3,4", DType::I32, {4}), "1 -2 3 4");
  CHECK_EQ(Load("x=2x2xf32=0.5,1e3,-1,0", DType::F32, {2, 2}), "0.5 1000 -1 0");
  CHECK_EQ(Load("x=1,2,3", DType::U8, {3}), "1 2 3");
  CHECK_EQ(Load("x=32x64xf32=0", DType::F32, {32, 64}), "0 0 0 0 0 0 0 0 ..");
  CHECK_EQ(Load("x=bf16=1.5", DType::BF16, {2}), "1.5 1.5");
  CHECK_EQ(Load("x=4294967295", DType::U32, {1}), "4294967295");
}

TEST_CASE("tensor argument: mistakes are one clear sentence") {
  CHECK_EQ(Load("x=4xi32=1,2,3", DType::I32, {4}), "'x' wants i32[4] but 3 numbers was given.");
  CHECK_EQ(Load("x=2xf32=1,2", DType::I32, {2}), "'x' wants i32[2] but f32[2] was given.");
  CHECK(absl::StrContains(Load("x=1,two", DType::F32, {2}), "value 1 of 'x' is 'two'"));
  CHECK(absl::StrContains(Load("x=256", DType::U8, {1}), "not a number of type u8"));
  CHECK(absl::StrContains(Load("x=1.5", DType::I32, {1}), "not a number of type i32"));
  CHECK(absl::StrContains(Load("x=4xq32=1", DType::F32, {4}), "'4xq32'"));
  CHECK(absl::StrContains(Load("x=random:seven", DType::F32, {4}), "whole number"));
  for (const char* text : {"x", "=1", "x=", "x=4xi32=", "x=@"}) {
    const auto arg = ParseTensorArg(text);
    REQUIRE_FALSE(arg.ok());
    CHECK_EQ(ExitCodeOf(arg.status()), kExitUsage);
  }
}

TEST_CASE("tensor argument: files with rows") {
  const testing::TempFolder folder;
  const std::string path = folder.File("x.npy");
  REQUIRE(WriteNpy(path, DType::U8, Shape{3, 2}, std::vector<uint8_t>{1, 2, 3, 4, 5, 6}).ok());
  CHECK_EQ(Load("x=@" + path + "[1:]", DType::U8, {2, 2}), "3 4 5 6");
  CHECK_EQ(Load("x=@" + path, DType::F32, {3, 2}), "1 2 3 4 5 6");
  CHECK(absl::StrContains(Load("x=@" + path, DType::U8, {2, 3}), "wants u8[2, 3]"));
  const auto missing = LoadTensor(*ParseTensorArg("x=@/nonexistent.npy"), DType::U8, {1});
  CHECK_EQ(ExitCodeOf(missing.status()), kExitFile);
}

TEST_CASE("tensor argument: random values are in range and repeatable") {
  const auto arg = ParseTensorArg("x=random:7");
  REQUIRE(arg.ok());
  const auto first = LoadTensor(*arg, DType::F32, {1000});
  const auto second = LoadTensor(*arg, DType::F32, {1000});
  REQUIRE(first.ok());
  CHECK(first->bytes() == second->bytes());
  double sum = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const double value = ElementAt(DType::F32, first->bytes(), i);
    CHECK(value >= -1);
    CHECK(value < 1);
    sum += value;
  }
  CHECK(std::abs(sum) < 100);
  CHECK_EQ(Load("x=random:7", DType::I32, {3}), "0 0 0");
}

Plan TwoInputs() {
  Plan plan;
  plan.name = "model";
  plan.inputs = {{"images", 0, DType::U8, {2, 3}}, {"labels", 1, DType::U8, {2}}};
  return plan;
}

TEST_CASE("inputs: unknown, repeated and missing ones are named") {
  const Plan plan = TwoInputs();
  const auto bind = [&](const std::vector<std::string>& texts, const BindOptions& options = {}) {
    std::vector<TensorArg> args;
    for (const std::string& text : texts) args.push_back(*ParseTensorArg(text));
    return BindInputs(plan, args, options).status();
  };
  CHECK(bind({"images=0", "labels=1"}).ok());
  CHECK_EQ(bind({"image=0"}).message(),
           "there is no input 'image'; the closest names are 'images', 'labels'.");
  CHECK(absl::StrContains(bind({"images=0", "images=1"}).message(), "given twice"));
  CHECK(absl::StrContains(bind({}).message(), "images u8[2, 3], labels u8[2]"));
  CHECK(absl::StrContains(bind({"labels=1"}).message(), "needs the input images u8[2, 3]"));
  BindOptions streamed;
  streamed.provided_elsewhere = {"images"};
  CHECK(bind({"labels=1"}, streamed).ok());
  CHECK_FALSE(bind({"labels=1", "images=0"}, streamed).ok());
  BindOptions random;
  random.random_when_missing = true;
  CHECK(bind({}, random).ok());
}

TEST_CASE("set: one element, with the bits of floats for U32") {
  const auto set = [](const std::string& text, DType dtype, size_t count) {
    const auto arg = ParseSetArg(text);
    if (!arg.ok()) return std::string(arg.status().message());
    std::vector<uint8_t> bytes(count * SizeOf(dtype));
    const absl::Status status = SetElement(*arg, dtype, bytes);
    return status.ok() ? FirstElements(dtype, bytes, 8) : std::string(status.message());
  };
  CHECK_EQ(set("adamw.hyper[1]=1", DType::U32, 3), "0 1 0");
  CHECK_EQ(set("adamw.hyper[1]=1.0", DType::U32, 3), "0 1065353216 0");
  CHECK_EQ(set("lr=1e-3", DType::F32, 1), "0.001");
  CHECK(absl::StrContains(set("lr=1e-3", DType::F32, 2), "say which"));
  CHECK(absl::StrContains(set("lr[2]=1", DType::F32, 2), "no element 2"));
  CHECK(absl::StrContains(set("t[0]=1.5", DType::I32, 1), "not a number of type i32"));
  CHECK(absl::StrContains(set("t[0]=-1", DType::U32, 1), "not a number of type u32"));
  for (const char* text : {"lr", "=1", "lr=", "lr[x]=1", "[0]=1"}) {
    CHECK_FALSE(ParseSetArg(text).ok());
  }
}

}  // namespace
}  // namespace oa::tools
