// Generation through the executor: windows that slide, states that keep the past, wrong files.
#include "frontend/examples/byte_lm/generate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "frontend/examples/byte_lm/byte_lm.h"
#include "tests/support/device.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/safetensors.h"

namespace oa::examples {
namespace {

using testing::TempFolder;

constexpr char kTable[] = "average.next.table";

Result<Matrix> NextByte(Graph& graph, const std::string& prefix, const Matrix& bytes,
                        ml::nn::Mode) {
  const ml::nn::Embedding table(graph, prefix + "next", kByteValues, kByteValues);
  OA_ASSIGN_OR_RETURN(const Matrix logits, table(bytes));
  return matrix::reshape(logits, {-1, kByteValues});
}

// Logits summed over all bytes so far, in a state.
Result<Matrix> SumOfNextBytes(Graph& graph, const std::string& prefix, const Matrix& bytes,
                              ml::nn::Mode mode) {
  const State past = graph.State("past", {1, kByteValues}, init::Zeros());
  OA_ASSIGN_OR_RETURN(const Matrix logits, NextByte(graph, prefix, bytes, mode));
  return matrix::accumulate(past, logits);
}

// A model's files and what it writes.
class Rig {
 public:
  Rig(const ByteModel& logits, uint64_t window) {
    ByteLm model;
    model.name = "next";
    model.logits = NextByte;
    model.generation_logits = logits;
    model.window = window;
    Graph graph("next_generate");
    REQUIRE(RecordByteLmGeneration(graph, model).ok());
    options_.model = folder_.File("next_generate.oag");
    REQUIRE(graph.Save(options_.model).ok());
    options_.params = folder_.File("next.safetensors");
    options_.temperature = 0;
    options_.bytes = 6;
    if (const char* device = std::getenv("OA_TEST_DEVICE")) options_.device = device;
    // The byte behind b is b + 1.
    std::vector<float> table(kByteValues * kByteValues, 0);
    for (size_t b = 0; b + 1 < kByteValues; ++b) table[b * kByteValues + b + 1] = 1;
    WriteTable(kTable, table);
  }

  GenerateOptions& options() { return options_; }

  void WriteTable(const std::string& name, const std::vector<float>& table) {
    std::vector<uint8_t> bytes(table.size() * sizeof(float));
    std::memcpy(bytes.data(), table.data(), bytes.size());
    tools::Safetensors file;
    file.tensors = {{name, F32, {kByteValues, kByteValues}, Blob::Own(std::move(bytes))}};
    REQUIRE(tools::WriteSafetensors(options_.params, file).ok());
  }

  absl::StatusOr<std::string> Write(const std::string& prompt) {
    options_.prompt = prompt;
    OA_ASSIGN_OR_RETURN(const std::unique_ptr<Generator> generator, Generator::Create(options_));
    std::string text;
    OA_RETURN_IF_ERROR(generator->Run([&](uint8_t byte) { text += static_cast<char>(byte); }));
    return text;
  }

 private:
  TempFolder folder_;
  GenerateOptions options_;
};

// What the model with states writes: always the byte counted most often, the first of equal ones.
std::string CountedText(const std::string& prompt, size_t bytes) {
  std::vector<int> counts(kByteValues, 0);
  std::string text = prompt;
  for (size_t i = 0; i + 1 < text.size(); ++i) counts[text[i] + 1] += 1;
  while (text.size() < prompt.size() + bytes) {
    counts[text.back() + 1] += 1;
    text += static_cast<char>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }
  return text.substr(prompt.size());
}

TEST_CASE("generate: texts shorter and longer than the window") {
  if (testing::TestDevice() == nullptr) return;
  Rig rig(nullptr, 4);
  for (const char* prompt : {"a", "xya", "axya", "aaaaaaaaxya"}) {
    const absl::StatusOr<std::string> text = rig.Write(prompt);
    REQUIRE_MESSAGE(text.ok(), text.status().ToString());
    CHECK_EQ(*text, "bcdefg");
  }
}

TEST_CASE("generate: a window of one byte reads the prompt byte by byte into states") {
  if (testing::TestDevice() == nullptr) return;
  Rig rig(SumOfNextBytes, 1);
  for (const char* prompt : {"a", "ab", "mmmab"}) {
    const absl::StatusOr<std::string> text = rig.Write(prompt);
    REQUIRE_MESSAGE(text.ok(), text.status().ToString());
    CHECK_EQ(*text, CountedText(prompt, 6));
  }
}

TEST_CASE("generate: parameters that do not fit, logits that are no numbers") {
  if (testing::TestDevice() == nullptr) return;
  Rig rig(nullptr, 4);
  std::vector<float> table(kByteValues * kByteValues, std::numeric_limits<float>::quiet_NaN());
  rig.WriteTable(kTable, table);
  const absl::Status diverged = rig.Write("a").status();
  CHECK_EQ(diverged.code(), absl::StatusCode::kFailedPrecondition);
  CHECK_MESSAGE(absl::StrContains(diverged.message(), "diverged"), diverged.ToString());
  rig.WriteTable("next.table", table);
  const absl::Status missing = rig.Write("a").status();
  CHECK_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  CHECK_MESSAGE(absl::StrContains(missing.message(), kTable), missing.ToString());
}

}  // namespace
}  // namespace oa::examples
