// Data and text of byte-level language models: windows, the sampler, the three graphs.
#include "frontend/examples/byte_lm/byte_lm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "frontend/examples/byte_lm/sampler.h"
#include "frontend/examples/byte_lm/windows.h"
#include "frontend/examples/transformer/transformer_model.h"
#include "ir/graph.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"

namespace oa::examples {
namespace {

std::vector<uint8_t> Count(size_t n) {
  std::vector<uint8_t> text;
  for (size_t i = 0; i < n; ++i) text.push_back(static_cast<uint8_t>(i));
  return text;
}

TEST_CASE("byte_lm: windows overlap by length - stride, and an incomplete last one is left out") {
  const absl::StatusOr<Windows> windows = CutWindows(Count(11), 4, 3);
  REQUIRE(windows.ok());
  CHECK_EQ(windows->count, 3);
  CHECK_EQ(windows->length, 4);
  CHECK_EQ(windows->bytes, std::vector<uint8_t>{0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9});
}

TEST_CASE("byte_lm: a text of exactly one window, and strides beyond the length") {
  CHECK_EQ(CutWindows(Count(4), 4, 3)->bytes, Count(4));
  CHECK_EQ(CutWindows(Count(5), 1, 4)->bytes, std::vector<uint8_t>{0, 4});
}

TEST_CASE("byte_lm: windows that cannot be cut are refused") {
  const auto message = [](size_t text, uint64_t length, uint64_t stride) {
    const absl::StatusOr<Windows> windows = CutWindows(Count(text), length, stride);
    REQUIRE_FALSE(windows.ok());
    CHECK_EQ(windows.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(windows.status().message());
  };
  CHECK_EQ(message(3, 4, 1), "a text of 3 bytes has no window of 4 bytes");
  CHECK(absl::StrContains(message(3, 0, 1), "at least 1"));
  CHECK(absl::StrContains(message(3, 1, 0), "at least 1"));
}

TEST_CASE("byte_lm: temperature 0 takes the most probable byte, the first of equal ones") {
  Sampler sampler(0, 1);
  std::vector<float> logits(256, -1);
  logits[70] = logits[90] = 3;
  for (int i = 0; i < 5; ++i) CHECK_EQ(sampler.Draw(logits), 70);
}

TEST_CASE("byte_lm: bytes are drawn as often as softmax(logits / temperature) says") {
  const float temperature = 0.5f;
  const std::vector<float> logits = {0.3f, -0.2f, 1000 * -1.0f, 0.8f};
  double total = 0;
  std::vector<double> expected;
  for (const float logit : logits) expected.push_back(std::exp(logit / temperature));
  for (const double weight : expected) total += weight;
  const int draws = 20000;
  std::vector<int> counts(logits.size(), 0);
  Sampler sampler(temperature, 3);
  for (int i = 0; i < draws; ++i) counts.at(sampler.Draw(logits)) += 1;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double p = expected[i] / total;
    const double deviation = std::sqrt(draws * p * (1 - p));
    CHECK_MESSAGE(std::abs(counts[i] - draws * p) <= 4 * deviation, "byte ", i);
  }
}

TEST_CASE("byte_lm: large logits do not overflow") {
  Sampler sampler(0.1f, 1);
  for (int i = 0; i < 100; ++i) CHECK_EQ(sampler.Draw({-3e38f, 3e38f, 0.0f}), 1);
}

TEST_CASE("byte_lm: equal seeds draw equal bytes, others do not") {
  const std::vector<float> logits(256, 0);
  const auto text = [&](uint64_t seed) {
    Sampler sampler(1, seed);
    std::vector<uint8_t> bytes;
    for (int i = 0; i < 32; ++i) bytes.push_back(sampler.Draw(logits));
    return bytes;
  };
  CHECK_EQ(text(1), text(1));
  CHECK_NE(text(1), text(2));
}

// Logits from a table: the smallest model there is.
Result<Matrix> Bigrams(Graph& graph, const std::string& prefix, const Matrix& bytes, ml::nn::Mode) {
  const ml::nn::Embedding table(graph, prefix + "table", kByteValues, kByteValues);
  OA_ASSIGN_OR_RETURN(const Matrix logits, table(bytes));
  return matrix::reshape(logits, {-1, kByteValues});
}

// "name dtype shape" of every input, then of every output.
std::vector<std::string> Interface(const Graph& graph) {
  std::vector<std::string> lines;
  for (const auto* values : {&graph.ir().inputs(), &graph.ir().outputs()}) {
    for (const ir::NamedValue& named : *values) {
      const ir::Value& value = graph.ir().value(named.value);
      lines.push_back(named.name + " " + std::string(DTypeName(value.dtype)) + " " +
                      ShapeText(value.shape));
    }
  }
  return lines;
}

ByteLm SmallModel() {
  ByteLm model;
  model.name = "bigrams";
  model.logits = Bigrams;
  model.batch = 3;
  model.length = 5;
  model.held_out_batch = 7;
  model.window = 4;
  return model;
}

TEST_CASE("byte_lm: the three graphs of a model") {
  const std::vector<std::vector<std::string>> expected = {
      {"bytes u8 [3, 6]", "loss f32 [1]", "gradient_norm f32 [1]"},
      {"bytes u8 [7, 6]", "loss f32 [1]"},
      {"bytes u8 [1, 4]", "last i32 [1]", "logits f32 [1, 256]"}};
  const std::vector<Recording> recordings = ByteLmRecordings(SmallModel());
  REQUIRE_EQ(recordings.size(), 3);
  const char* names[] = {"bigrams_train", "bigrams_eval", "bigrams_generate"};
  for (size_t i = 0; i < recordings.size(); ++i) {
    CHECK_EQ(recordings[i].name, names[i]);
    Graph graph(recordings[i].name);
    const absl::Status status = recordings[i].record(graph);
    REQUIRE_MESSAGE(status.ok(), status.ToString());
    CHECK_EQ(Interface(graph), expected[i]);
    const std::string parameter = graph.parameters().back().name();
    CHECK_EQ(parameter, "average.table.table");
  }
}

TEST_CASE("byte_lm: generation may have a model of its own, with states and one byte a replay") {
  ByteLm model = SmallModel();
  model.window = 1;
  int calls = 0;
  model.generation_logits = [&](Graph& graph, const std::string& prefix, const Matrix& bytes,
                                ml::nn::Mode mode) -> Result<Matrix> {
    ++calls;
    CHECK_EQ(bytes.shape(), Shape{1, 1});
    CHECK_EQ(prefix, kAverage);
    CHECK(mode == ml::nn::Mode::kEvaluation);
    const State past = graph.State("past", {1, kByteValues}, init::Zeros());
    OA_ASSIGN_OR_RETURN(const Matrix logits, Bigrams(graph, prefix, bytes, mode));
    return matrix::accumulate(past, logits);
  };
  Graph graph("generate");
  const absl::Status status = RecordByteLmGeneration(graph, model);
  REQUIRE_MESSAGE(status.ok(), status.ToString());
  CHECK_EQ(calls, 1);
  CHECK_EQ(Interface(graph),
           std::vector<std::string>{"bytes u8 [1, 1]", "last i32 [1]", "logits f32 [1, 256]"});
}

TEST_CASE("byte_lm: the Transformer does not see what follows a byte") {
  if (testing::TestDevice() == nullptr) return;
  ByteLm model = SmallModel();
  model.logits = Transformer({.width = 12, .heads = 2, .layers = 2, .experts = 3, .hidden = 5});
  model.window = 6;
  Graph graph("generate");
  const absl::Status status = RecordByteLmGeneration(graph, model);
  REQUIRE_MESSAGE(status.ok(), status.ToString());
  const auto logits = [&](std::vector<uint8_t> bytes) {
    const absl::StatusOr<exec::TensorMap> outputs = testing::RunGraph(
        graph.ir(), {{"bytes", std::move(bytes)}, {"last", testing::Bytes{3, 0, 0, 0}}});
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
    return outputs->at("logits");
  };
  const testing::Bytes expected = logits({10, 20, 30, 40, 50, 60});
  const bool blind = logits({10, 20, 30, 40, 70, 80}) == expected;
  const bool attentive = logits({11, 20, 30, 40, 50, 60}) != expected;
  CHECK(blind);
  CHECK(attentive);
}

}  // namespace
}  // namespace oa::examples
