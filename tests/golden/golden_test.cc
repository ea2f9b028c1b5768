// Goldens: recording gives the stored bytes, compiling the stored plan, replaying the stored
// outputs. After an intended change run tests/golden/update and review what it prints.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "ir/graph_io.h"
#include "schema/file_io.h"
#include "tests/golden/models.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

std::string GoldenPath(const std::string& file) {
  return std::string(OA_SOURCE_DIR) + "/tests/golden/" + file;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), "cannot open ", path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

ir::Graph LoadGolden(const GoldenModel& model) {
  absl::StatusOr<ir::Graph> graph = ir::LoadGraph(GoldenPath(model.name + ".oag"));
  REQUIRE_MESSAGE(graph.ok(), graph.status().ToString());
  return *std::move(graph);
}

TEST_CASE("golden: recording again gives byte-identical files") {
  for (const GoldenModel& model : GoldenModels()) {
    INFO(model.name);
    absl::StatusOr<Blob> file = ReadFile(GoldenPath(model.name + ".oag"));
    REQUIRE_MESSAGE(file.ok(), file.status().ToString());
    const std::vector<uint8_t> again = SerializeWith(model, LoadGolden(model).test_vectors());
    const std::vector<uint8_t> stored(file->bytes().begin(), file->bytes().end());
    const bool identical = again == stored;
    CHECK(identical);
  }
}

TEST_CASE("golden: the plan for the portable profile is the stored one") {
  for (const GoldenModel& model : GoldenModels()) {
    INFO(model.name);
    CHECK_EQ(PlanText(model), ReadText(GoldenPath(model.name + ".plan.txt")));
  }
}

void CheckVector(const ir::Graph& graph, const TestVector& vector) {
  std::map<std::string, Bytes> inputs;
  for (const TestTensor& input : vector.inputs) {
    inputs[input.name] = Bytes(input.data.bytes().begin(), input.data.bytes().end());
  }
  RunOptions options;
  options.replays = static_cast<int>(vector.replays);
  absl::StatusOr<exec::TensorMap> outputs = RunGraph(graph, inputs, options);
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
  for (const ir::NamedValue& output : graph.outputs()) {
    const ir::Value& value = graph.value(output.value);
    for (const TestTensor& expected : vector.outputs) {
      if (expected.name != output.name) continue;
      INFO(output.name);
      CHECK_EQ(Compare(FromBytes(value.dtype, value.shape, outputs->at(output.name)),
                       FromBytes(value.dtype, value.shape, expected.data.bytes()),
                       {expected.atol, expected.rtol}),
               "");
    }
  }
}

TEST_CASE("golden: replay matches the stored outputs") {
  if (TestDevice() == nullptr) return;
  for (const GoldenModel& model : GoldenModels()) {
    INFO(model.name);
    const ir::Graph graph = LoadGolden(model);
    REQUIRE_FALSE(graph.test_vectors().empty());
    for (const TestVector& vector : graph.test_vectors()) CheckVector(graph, vector);
  }
}

}  // namespace
}  // namespace oa::testing
