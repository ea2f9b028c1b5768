// The golden graphs: programs whose recording, plan and results are regression-tested.
#ifndef OA_TESTS_GOLDEN_MODELS_H_
#define OA_TESTS_GOLDEN_MODELS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "frontend/graph.h"
#include "tests/reference/reference.h"

namespace oa::testing {

struct GoldenModel {
  std::string name;  // of the files <name>.oag and <name>.plan.txt
  absl::Status (*record)(Graph& graph);
  std::vector<std::pair<std::string, reference::InputSpec>> inputs;
  uint32_t replays;
  float atol, rtol;  // of F32 outputs; integer outputs are exact
};

std::vector<GoldenModel> GoldenModels();

// Records the model; aborts the test on failure.
std::unique_ptr<Graph> RecordGolden(const GoldenModel& model);

// The file's bytes for a recording with the given vectors.
std::vector<uint8_t> SerializeWith(const GoldenModel& model, std::vector<TestVector> vectors);

// Text of the plan for the portable profile: what every device could run.
std::string PlanText(const GoldenModel& model);

// Replays the model on the test device and returns its test vector.
TestVector MakeVector(const GoldenModel& model);

}  // namespace oa::testing

#endif  // OA_TESTS_GOLDEN_MODELS_H_
