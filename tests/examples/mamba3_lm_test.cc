// The Mamba-3 language model: what it generates byte by byte from states that persist between
// replays is what it computes from the whole text.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "frontend/examples/mamba3/mamba3_model.h"
#include "ir/compile.h"
#include "ir/graph.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using reference::Tensor;

constexpr uint64_t kLength = 70;  // the states outlive a chunk of the whole form

Tensor WholeLogits(const examples::ByteLm& model, const Bytes& text) {
  Graph graph("whole");
  const Matrix bytes = Must(matrix::cast(graph.Input("bytes", U8, {1, kLength}), I32));
  graph.Output("logits",
               Must(model.logits(graph, examples::kAverage, bytes, ml::nn::Mode::kEvaluation)));
  const exec::TensorMap outputs = Must(RunGraph(graph.ir(), {{"bytes", text}}));
  return FromBytes(F32, {kLength, examples::kByteValues}, outputs.at("logits"));
}

// Logits of one replay after another of the generation graph.
Tensor StepLogits(const examples::ByteLm& model, const Bytes& text) {
  Graph graph("generate");
  REQUIRE(examples::RecordByteLmGeneration(graph, model).ok());
  ir::CompileOptions compile;
  compile.profile = TestDevice()->info().profile;
  ir::Compiled compiled = Must(ir::Compile(graph.ir(), TestKernels(), compile));
  const auto program =
      Must(exec::Program::Create(*TestDevice(), std::move(compiled.plan), TestKernels()));
  const auto session = Must(exec::Session::Create(*program));
  const Bytes last(sizeof(int32_t));  // position 0
  Bytes all;
  for (uint8_t byte : text) {
    const Bytes one = {byte};
    const exec::TensorMap outputs = Must(session->Run({{"bytes", one}, {"last", last}}));
    all.insert(all.end(), outputs.at("logits").begin(), outputs.at("logits").end());
  }
  return FromBytes(F32, {kLength, examples::kByteValues}, all);
}

TEST_CASE("mamba3 language model: steps that persist equal the whole sequence") {
  if (TestDevice() == nullptr) return;
  Bytes text(kLength);
  for (size_t i = 0; i < kLength; ++i) text[i] = static_cast<uint8_t>(97 + i * i % 26);
  for (uint64_t rank : {1, 4}) {
    INFO("rank ", rank);
    const examples::ByteLm model = examples::Mamba3Lm("mamba3", {.width = 16,
                                                                 .layers = 2,
                                                                 .head_dim = 8,
                                                                 .state_size = 8,
                                                                 .mimo_rank = rank,
                                                                 .hidden = 24});
    const Tensor expected = WholeLogits(model, text);
    CHECK(*std::max_element(expected.data.begin(), expected.data.end()) > 0.1);
    CHECK_EQ(Compare(StepLogits(model, text), expected, {2e-5, 2e-5}), "");
  }
}

}  // namespace
}  // namespace oa::testing
