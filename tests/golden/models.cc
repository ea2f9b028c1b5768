#include "tests/golden/models.h"

#include <doctest/doctest.h>

#include "frontend/examples/digits/digits_model.h"
#include "frontend/examples/digits_cnn/digits_cnn_model.h"
#include "frontend/examples/mamba3/mamba3_model.h"
#include "frontend/examples/transformer/transformer_model.h"
#include "frontend/oa.h"
#include "ir/compile.h"
#include "ir/graph.h"
#include "schema/plan.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using reference::Integers;
using reference::Uniform;

absl::Status DigitsStep(Graph& graph) {
  examples::DigitsOptions options;
  options.batch = 16;
  options.channels = 8;
  options.hidden = 16;
  return examples::RecordDigitsTraining(graph, options);
}

// A training step of a Mamba-3 language model, single-input or multi-input.
template <uint64_t kRank>
absl::Status Mamba3Step(Graph& graph) {
  examples::ByteLm model = examples::Mamba3Lm("mamba3", {.width = 16,
                                                         .layers = 1,
                                                         .head_dim = 8,
                                                         .state_size = 8,
                                                         .mimo_rank = kRank,
                                                         .hidden = 16});
  model.batch = 2;
  model.length = 20;
  return examples::RecordByteLmTraining(graph, model);
}

absl::Status DigitsCnnStep(Graph& graph) {
  examples::DigitsCnnOptions options;
  options.batch = 6;
  options.channels = 5;
  return examples::RecordDigitsCnnTraining(graph, options);
}

examples::ByteLm SmallTransformer() {
  examples::ByteLm model;
  model.logits = examples::Transformer(
      {.width = 12, .heads = 2, .layers = 2, .experts = 3, .experts_per_token = 2, .hidden = 5});
  model.batch = 2;
  model.length = 7;
  model.window = 7;
  return model;
}

absl::Status TransformerStep(Graph& graph) {
  return examples::RecordByteLmTraining(graph, SmallTransformer());
}

absl::Status TransformerGenerate(Graph& graph) {
  return examples::RecordByteLmGeneration(graph, SmallTransformer());
}

// Regression with broadcasting, a squared error and Nesterov momentum.
absl::Status SgdRegression(Graph& graph) {
  const Matrix x = graph.Input("x", F32, {7, 5});
  const Matrix target = graph.Input("target", F32, {7, 3});
  const Parameter w = graph.Param("w", {5, 3}, init::XavierUniform(3));
  const Parameter b = graph.Param("b", {1, 3}, init::Normal(0, 0.1f, 4));
  OA_ASSIGN_OR_RETURN(Matrix y, matrix::matmul(x, w));
  OA_ASSIGN_OR_RETURN(y, matrix::add(y, b));
  OA_ASSIGN_OR_RETURN(y, ml::matrix::softplus(y));
  OA_ASSIGN_OR_RETURN(Matrix loss, ml::loss::mse(y, target));
  OA_ASSIGN_OR_RETURN(auto gradients, ml::autograd::Backward(loss));
  ml::optim::Sgd optimiser({.learning_rate = 0.05f,
                            .momentum = 0.9f,
                            .weight_decay = 0.001f,
                            .nesterov = true});
  OA_RETURN_IF_ERROR(optimiser.Step(gradients));
  graph.Output("loss", loss);
  graph.Output("w", w);
  graph.Output("b", b);
  return graph.status();
}

// Embedding, slices, concatenation, transposition and views.
absl::Status ShapesAndIndices(Graph& graph) {
  const Parameter table = graph.Param("table", {11, 6}, init::Uniform(-1, 1, 5));
  const Matrix tokens = graph.Input("tokens", U8, {3, 4});
  OA_ASSIGN_OR_RETURN(Matrix x, matrix::embedding(table, tokens));
  OA_ASSIGN_OR_RETURN(Matrix left, matrix::slice(x, 2, 0, 2));
  OA_ASSIGN_OR_RETURN(Matrix right, matrix::slice(x, 2, 2, 6));
  OA_ASSIGN_OR_RETURN(Matrix swapped, matrix::concat({right, left}, 2));
  OA_ASSIGN_OR_RETURN(Matrix turned, matrix::transpose(swapped, 0, 2));
  OA_ASSIGN_OR_RETURN(Matrix rows, matrix::reshape(turned, {-1, 12}));
  OA_ASSIGN_OR_RETURN(Matrix loss, matrix::mean(rows));
  OA_ASSIGN_OR_RETURN(auto gradients, ml::autograd::Backward(loss));
  OA_ASSIGN_OR_RETURN(Matrix gradient, gradients.Of(table));
  graph.Output("rows", rows);
  graph.Output("gradient", gradient);
  return graph.status();
}

// Softmax over a middle axis, reductions, casts and a running state.
absl::Status Reductions(Graph& graph) {
  const Matrix x = graph.Input("x", F32, {3, 70, 5});
  const oa::State total = graph.State("total", {3, 1, 5}, init::Zeros());
  OA_ASSIGN_OR_RETURN(Matrix p, matrix::softmax(x, 1));
  OA_ASSIGN_OR_RETURN(Matrix weighted, matrix::mul(p, x));
  OA_ASSIGN_OR_RETURN(Matrix expectation, matrix::sum(weighted, 1));
  OA_ASSIGN_OR_RETURN(Matrix updated, matrix::accumulate(total, expectation));
  OA_ASSIGN_OR_RETURN(Matrix largest, matrix::max(x));
  OA_ASSIGN_OR_RETURN(Matrix classes, matrix::argmax(x));
  OA_ASSIGN_OR_RETURN(Matrix scaled, matrix::scale(x, 100));
  OA_ASSIGN_OR_RETURN(Matrix rounded, matrix::cast(scaled, I32));
  graph.Output("total", updated);
  graph.Output("largest", largest);
  graph.Output("classes", classes);
  graph.Output("rounded", rounded);
  return graph.status();
}

}  // namespace

std::vector<GoldenModel> GoldenModels() {
  return {
      {"digits_step", DigitsStep,
       {{"images", Integers(U8, {16, 64}, 0, 16)}, {"labels", Integers(U8, {16}, 0, 9)}},
       3, 2e-5f, 2e-4f},
      {"digits_cnn_step", DigitsCnnStep,
       {{"images", Integers(U8, {6, 64}, 0, 16)}, {"labels", Integers(U8, {6}, 0, 9)}},
       3, 2e-5f, 2e-4f},
      {"transformer_step", TransformerStep, {{"bytes", Integers(U8, {2, 8}, 0, 255)}}, 3, 2e-5f,
       2e-4f},
      {"transformer_generate", TransformerGenerate,
       {{"bytes", Integers(U8, {1, 7}, 0, 255)}, {"last", Integers(I32, {1}, 0, 6)}}, 1, 2e-5f,
       2e-4f},
      {"sgd_regression", SgdRegression,
       {{"x", Uniform({7, 5})}, {"target", Uniform({7, 3}, 0, 2)}}, 4, 1e-5f, 1e-4f},
      {"shapes_and_indices", ShapesAndIndices, {{"tokens", Integers(U8, {3, 4}, 0, 12)}}, 1,
       1e-6f, 1e-5f},
      {"reductions", Reductions, {{"x", Uniform({3, 70, 5}, -4, 4)}}, 2, 1e-5f, 1e-5f},
      {"mamba3_step", Mamba3Step<1>, {{"bytes", Integers(U8, {2, 21}, 0, 255)}}, 3, 2e-5f, 2e-4f},
      {"mamba3_mimo_step", Mamba3Step<4>, {{"bytes", Integers(U8, {2, 21}, 0, 255)}}, 3, 2e-5f,
       2e-4f},
  };
}

std::unique_ptr<Graph> RecordGolden(const GoldenModel& model) {
  auto graph = std::make_unique<Graph>(model.name);
  const absl::Status status = model.record(*graph);
  REQUIRE_MESSAGE(status.ok(), status.ToString());
  return graph;
}

std::vector<uint8_t> SerializeWith(const GoldenModel& model, std::vector<TestVector> vectors) {
  std::unique_ptr<Graph> graph = RecordGolden(model);
  for (TestVector& vector : vectors) {
    const absl::Status status = graph->AddTestVector(std::move(vector));
    REQUIRE_MESSAGE(status.ok(), status.ToString());
  }
  Result<std::vector<uint8_t>> bytes = graph->Serialize();
  REQUIRE_MESSAGE(bytes.ok(), bytes.status().ToString());
  return *std::move(bytes);
}

std::string PlanText(const GoldenModel& model) {
  const std::unique_ptr<Graph> graph = RecordGolden(model);
  absl::StatusOr<ir::Compiled> compiled = ir::Compile(graph->ir(), TestKernels(), {});
  REQUIRE_MESSAGE(compiled.ok(), compiled.status().ToString());
  return DumpPlan(compiled->plan);
}

TestVector MakeVector(const GoldenModel& model) {
  const std::unique_ptr<Graph> graph = RecordGolden(model);
  TestVector vector;
  vector.name = model.name;
  vector.replays = model.replays;
  std::map<std::string, Bytes> inputs;
  uint64_t seed = 100;
  for (const auto& [name, spec] : model.inputs) {
    inputs[name] = ToBytes(Fill(spec, seed++));
    vector.inputs.push_back({name, Blob::Own(inputs[name]), 0, 0});
  }
  RunOptions options;
  options.replays = static_cast<int>(model.replays);
  absl::StatusOr<exec::TensorMap> outputs = RunGraph(graph->ir(), inputs, options);
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
  for (const ir::NamedValue& output : graph->ir().outputs()) {
    const bool real = graph->ir().value(output.value).dtype == DType::F32;
    vector.outputs.push_back({output.name, Blob::Own(outputs->at(output.name)),
                              real ? model.atol : 0, real ? model.rtol : 0});
  }
  return vector;
}

}  // namespace oa::testing
