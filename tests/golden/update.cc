// Regenerates the golden files and prints what moved and by how much. Run through
// tests/golden/update.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "ir/graph_io.h"
#include "schema/file_io.h"
#include "tests/golden/models.h"
#include "tests/support/device.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

std::string Path(const std::string& file) {
  return std::string(OA_SOURCE_DIR) + "/tests/golden/" + file;
}

void PrintMoved(const std::string& model, const ir::Graph& old, const TestVector& vector) {
  if (old.test_vectors().empty()) return;
  for (const TestTensor& was : old.test_vectors()[0].outputs) {
    for (const TestTensor& is : vector.outputs) {
      if (is.name != was.name) continue;
      const bool same =
          is.data.size() == was.data.size() &&
          std::equal(is.data.bytes().begin(), is.data.bytes().end(), was.data.bytes().begin());
      if (same) continue;
      double worst = 0;
      for (const ir::NamedValue& output : old.outputs()) {
        if (output.name != was.name || is.data.size() != was.data.size()) continue;
        const ir::Value& value = old.value(output.value);
        const auto a = FromBytes(value.dtype, value.shape, was.data.bytes());
        const auto b = FromBytes(value.dtype, value.shape, is.data.bytes());
        for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
      }
      std::printf("%s: output '%s' moved, largest difference %.3g\n", model.c_str(),
                  is.name.c_str(), worst);
    }
  }
}

void Write(const std::string& path, absl::Span<const uint8_t> bytes) {
  const absl::Status status = WriteFileAtomically(path, {bytes});
  REQUIRE_MESSAGE(status.ok(), status.ToString());
}

void UpdateText(const GoldenModel& model) {
  const std::string path = Path(model.name + ".plan.txt");
  std::ifstream file(path);
  std::stringstream old;
  old << file.rdbuf();
  const std::string text = PlanText(model);
  if (old.str() == text) return;
  std::printf("%s: plan changed\n", model.name.c_str());
  Write(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

TEST_CASE("update the goldens") {
  RequireDevice(true);
  REQUIRE(TestDevice() != nullptr);
  for (const GoldenModel& model : GoldenModels()) {
    const TestVector vector = MakeVector(model);
    const std::string path = Path(model.name + ".oag");
    absl::StatusOr<ir::Graph> old = ir::LoadGraph(path);
    if (old.ok()) {
      PrintMoved(model.name, *old, vector);
    } else {
      std::printf("%s: new (%s)\n", model.name.c_str(),
                  std::string(old.status().message()).c_str());
    }
    Write(path, SerializeWith(model, {vector}));
    UpdateText(model);
  }
}

}  // namespace
}  // namespace oa::testing
