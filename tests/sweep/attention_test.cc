// Attention by both routes, its queries that see nothing, the composition of packed heads, and the
// invariants of heads and rotary positions.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/compile.h"
#include "ir/graph.h"
#include "tests/support/recording.h"

namespace oa::testing {
namespace {

namespace mm = ml::matrix;
using reference::Tensor;

constexpr char kOp[] = "scaled_dot_product_attention";
constexpr double kInf = std::numeric_limits<double>::infinity();

RunOptions ByRoute(const std::string& route) {
  return {.routes = {{kOp, route}, {absl::StrCat(kOp, "_backward"), route}}};
}

// ---- Routes ----

struct Case {
  uint64_t heads, length, width;
  bool masked, causal;
};

void CheckRoutesAgree(const Case& c) {
  INFO(c.heads, " x ", c.length, " x ", c.width, ", mask ", c.masked, ", causal ", c.causal);
  Recording program;
  std::vector<Matrix> qkv;
  for (const char* name : {"q", "k", "v"}) {
    qkv.push_back(program.Input(name, {c.heads, c.length, c.width}));
  }
  Matrix mask;
  if (c.masked) mask = program.Input("mask", {c.heads * c.length, c.length});
  const Matrix y = Must(mm::scaled_dot_product_attention(
      qkv[0], qkv[1], qkv[2], c.masked ? &mask : nullptr, 0.3f, c.causal));
  program.OutputWithGradients("y", y, program.Input("weight", y.shape()), qkv);
  const std::vector<std::string> names = {"y", "y.gradient0", "y.gradient1", "y.gradient2"};
  program.Run(ByRoute("products"));
  std::vector<Tensor> expected;
  for (const std::string& name : names) expected.push_back(program.Value(name));
  program.Run(ByRoute("flash"));
  for (size_t i = 0; i < names.size(); ++i) program.Expect(names[i], expected[i], {3e-5, 3e-5});
}

TEST_CASE("attention: both routes agree, on both sides of every tile's end") {
  if (TestDevice() == nullptr) return;
  for (bool causal : {false, true}) {
    for (bool masked : {false, true}) {
      CheckRoutesAgree({3, 1, 1, masked, causal});
      CheckRoutesAgree({2, 33, 8, masked, causal});
      CheckRoutesAgree({1, 65, 65, masked, causal});
    }
    CheckRoutesAgree({2, 130, 19, false, causal});
    CheckRoutesAgree({1, 64, 130, false, causal});
  }
}

TEST_CASE("attention: the flash route equals the oracle") {
  if (TestDevice() == nullptr) return;
  const Shape shape = {2, 70, 20};
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    if (op.op != kOp) continue;
    std::vector<Tensor> operands;
    for (uint64_t i = 1; i <= 3; ++i) operands.push_back(Fill(reference::Uniform(shape), i));
    operands.push_back(Fill(reference::Uniform({140, 70}), 4));
    const Tensor expected =
        op.forward(operands, ir::Attributes().F32("scale", 0.25f).Bool("causal", true))[0];
    Recording program;
    const Matrix mask = program.Input("m", operands[3]);
    program.Output("y", Must(mm::scaled_dot_product_attention(
                            program.Input("q", operands[0]), program.Input("k", operands[1]),
                            program.Input("v", operands[2]), &mask, 0.25f, true)));
    program.Run(ByRoute("flash"));
    program.Expect("y", expected, {1e-5, 1e-5});
    return;
  }
  FAIL("no oracle");
}

TEST_CASE("attention: a query that sees no key gives zeros and no gradient") {
  if (TestDevice() == nullptr) return;
  constexpr uint64_t kLength = 37, kWidth = 5, kDead = 11;
  Tensor mask(DType::F32, {kLength, kLength});
  for (uint64_t j = 0; j < kLength; ++j) mask[kDead * kLength + j] = -kInf;
  for (uint64_t i = 0; i < kLength; ++i) mask[i * kLength + 3] = -kInf;  // a key that none sees
  Recording program;
  std::vector<Matrix> qkv;
  for (const char* name : {"q", "k", "v"}) qkv.push_back(program.Input(name, {1, kLength, kWidth}));
  const Matrix masked = program.Input("mask", mask);
  const Matrix y =
      Must(mm::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], &masked, 1, false));
  program.OutputWithGradients("y", y, program.Input("weight", y.shape()), qkv);
  for (const char* route : {"products", "flash"}) {
    INFO("route ", route);
    program.Run(ByRoute(route));
    for (const char* name : {"y", "y.gradient0", "y.gradient1", "y.gradient2"}) {
      for (double value : program.Value(name).data) CHECK(std::isfinite(value));
    }
    for (uint64_t d = 0; d < kWidth; ++d) {
      CHECK_EQ(program.Value("y")[kDead * kWidth + d], 0.0);
      CHECK_EQ(program.Value("y.gradient0")[kDead * kWidth + d], 0.0);
      CHECK_EQ(program.Value("y.gradient1")[3 * kWidth + d], 0.0);
      CHECK_EQ(program.Value("y.gradient2")[3 * kWidth + d], 0.0);
    }
  }
}

// ---- Compositions ----

TEST_CASE("attention: flash_attention_causal equals causal attention in value and gradient") {
  if (TestDevice() == nullptr) return;
  Recording program;
  std::vector<Matrix> qkv;
  for (const char* name : {"q", "k", "v"}) qkv.push_back(program.Input(name, {2, 40, 6}));
  const Matrix weight = program.Input("weight", {2, 40, 6});
  program.OutputWithGradients(
      "flash", Must(mm::flash_attention_causal(qkv[0], qkv[1], qkv[2], 0.4f)), weight, qkv);
  program.OutputWithGradients(
      "plain", Must(mm::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], nullptr, 0.4f, true)),
      weight, qkv);
  program.Run();
  program.ExpectPair("flash", "plain", 3);
}

// The flash provider stores no scores: only its operands are bounded.
TEST_CASE("attention: flash_attention_causal takes more than 2^32 scores") {
  if (TestDevice() == nullptr) return;
  Graph graph("many");
  const Matrix x = graph.Input("x", DType::F32, {4097, 1024, 1});
  graph.Output("y", Must(mm::flash_attention_causal(x, x, x, 1)));
  CHECK(absl::IsInvalidArgument(
      mm::scaled_dot_product_attention(x, x, x, nullptr, 1, true).status()));
  ir::CompileOptions options;
  options.profile = TestDevice()->info().profile;
  const absl::Status compiled = ir::Compile(graph.ir(), TestKernels(), options).status();
  CHECK_MESSAGE(compiled.ok(), compiled.ToString());
}

TEST_CASE("attention: packed heads are split, attended to and merged") {
  if (TestDevice() == nullptr) return;
  constexpr uint64_t kBatch = 2, kLength = 9, kHeads = 3, kWidth = 4;
  Recording program;
  std::vector<Matrix> qkv, split;
  for (const char* name : {"q", "k", "v"}) {
    qkv.push_back(program.Input(name, {kBatch * kLength, kHeads * kWidth}));
    split.push_back(Must(mm::split_heads(qkv.back(), kBatch, kLength, kHeads)));
  }
  const size_t before = program.graph().ir().nodes().size();
  program.Output("packed", Must(mm::scaled_dot_product_attention_causal(qkv[0], qkv[1], qkv[2],
                                                                        kLength, kHeads)));
  CHECK_EQ(program.graph().ir().nodes().size(), before + 5);
  const Matrix y =
      Must(mm::scaled_dot_product_attention(split[0], split[1], split[2], nullptr, 0.5f, true));
  program.Output("by_hand", Must(mm::merge_heads(y, kBatch, kLength, kHeads)));
  program.Run();
  program.ExpectPair("packed", "by_hand", 0);
}

TEST_CASE("attention: merging inverts splitting, bit for bit") {
  if (TestDevice() == nullptr) return;
  for (uint64_t heads : {1u, 3u, 40u}) {
    Recording program;
    const Matrix x = program.Input("x", {4 * 35, heads * 12});
    const Matrix split = Must(mm::split_heads(x, 4, 35, heads));
    CHECK(split.shape() == Shape{4 * heads, 35, 12});
    program.Output("y", Must(mm::merge_heads(split, 4, 35, heads)));
    program.Run();
    program.Expect("y", program.Value("x"));
  }
}

// A refused composition must leave nothing of its first parts behind.
TEST_CASE("attention: a refused call of packed heads records nothing") {
  Graph graph("refused");
  const Matrix q = graph.Input("q", DType::F32, {6, 8}), k = graph.Input("k", DType::F32, {6, 4});
  const Matrix cube = graph.Input("cube", DType::F32, {2, 3, 8});
  const auto refused = [&](const Matrix& a, const Matrix& b, size_t length, size_t heads) {
    const size_t nodes = graph.ir().nodes().size(), values = graph.ir().values().size();
    const Result<Matrix> result = mm::scaled_dot_product_attention_causal(a, b, a, length, heads);
    CHECK(absl::IsInvalidArgument(result.status()));
    CHECK(std::string(result.status().message()).find("scaled_dot_product_attention_causal") !=
          std::string::npos);
    CHECK_EQ(graph.ir().nodes().size(), nodes);
    CHECK_EQ(graph.ir().values().size(), values);
  };
  refused(q, k, 3, 2);  // shapes differ
  refused(q, q, 4, 2);  // 6 rows are no sequences of 4
  refused(q, q, 3, 3);  // 8 columns are no 3 heads
  refused(q, q, 0, 2);
  refused(q, q, 3, 0);
  refused(cube, cube, 3, 2);
  CHECK(graph.status().ok());
}

// ---- Rotary positions ----

TEST_CASE("rope: position 0 is the identity") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {1, 24});
  program.Output("y", Must(mm::rope(x, 3, 8, 10000.0f, 0)));
  program.Run();
  program.Expect("y", program.Value("x"));
}

// The gradient of sum(y * y) / 2 is the rotation of y backwards.
TEST_CASE("rope: its backward is its inverse") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {50, 24});
  const Matrix y = Must(mm::rope(x, 3, 8, 10000.0f, 7));
  const Matrix half = Must(matrix::scale(Must(matrix::mul(y, y)), 0.5f));
  const ml::autograd::Gradients gradients =
      Must(ml::autograd::Backward(Must(matrix::sum(half, std::nullopt)), {x}));
  program.Output("x_again", Must(gradients.Of(x)));
  program.Run();
  program.Expect("x_again", program.Value("x"), {2e-6, 2e-6});
}

TEST_CASE("rope: rope_sequences is one rope a sequence") {
  if (TestDevice() == nullptr) return;
  constexpr uint64_t kBatch = 3, kLength = 5;
  Recording program;
  const Matrix x = program.Input("x", {kBatch * kLength, 12});
  std::vector<Matrix> parts;
  for (uint64_t b = 0; b < kBatch; ++b) {
    const Matrix part = Must(matrix::slice(x, 0, b * kLength, (b + 1) * kLength));
    parts.push_back(Must(mm::rope(part, 2, 6, 500.0f, 4)));
  }
  program.Output("packed", Must(mm::rope_sequences(x, kLength, 2, 6, 500.0f, 4)));
  program.Output("parts", Must(matrix::concat(parts, 0)));
  program.Run();
  program.ExpectPair("packed", "parts", 0);
}

}  // namespace
}  // namespace oa::testing
