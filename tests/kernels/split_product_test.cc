// Products with few results and a long k, as a GPU plan computes them: partial products and a sum.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "executor/session.h"
#include "ir/compile.h"
#include "ir/graph.h"
#include "tests/kernels/kernel_run.h"
#include "tests/support/device.h"

namespace oa::testing {
namespace {

constexpr uint64_t kRows = 5, kColumns = 6, kLength = 2560;

ir::ValueId Input(ir::Graph& graph, const char* name, const Shape& shape) {
  const auto value = graph.AddStorage(BufferKind::kInput, name, DType::F32, shape);
  REQUIRE_MESSAGE(value.ok(), value.status().ToString());
  return *value;
}

ir::Graph LinearGraph() {
  ir::Graph graph("split");
  const ir::ValueId x = Input(graph, "x", {kRows, kLength});
  const ir::ValueId w = Input(graph, "w", {kColumns, kLength});
  const ir::ValueId bias = Input(graph, "bias", {kColumns});
  const auto y = graph.Record("linear", {x, w, bias});
  REQUIRE_MESSAGE(y.ok(), y.status().ToString());
  REQUIRE(graph.AddOutput("y", (*y)[0]).ok());
  return graph;
}

absl::Span<const uint8_t> AsBytes(const std::vector<float>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
}

TEST_CASE("products: a long k is cut into equal parts and summed") {
  exec::Device* device = TestDevice();
  if (device == nullptr) return;
  const ir::CompileOptions options;  // the portable GPU profile, whatever the test device is
  absl::StatusOr<ir::Compiled> compiled = ir::Compile(LinearGraph(), TestKernels(), options);
  REQUIRE_MESSAGE(compiled.ok(), compiled.status().ToString());
  REQUIRE(compiled->plan.dispatches.size() == 2);
  const auto program = exec::Program::Create(*device, std::move(compiled->plan), TestKernels());
  REQUIRE_MESSAGE(program.ok(), program.status().ToString());
  const auto session = exec::Session::Create(**program);
  REQUIRE_MESSAGE(session.ok(), session.status().ToString());
  const std::vector<float> x = Spread(kRows * kLength, -1, 1);
  const std::vector<float> w = Spread(kColumns * kLength, -1, 1), bias = Spread(kColumns, 1, 2);
  const auto outputs =
      (*session)->Run({{"x", AsBytes(x)}, {"w", AsBytes(w)}, {"bias", AsBytes(bias)}});
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().ToString());
  std::vector<float> y(kRows * kColumns);
  std::memcpy(y.data(), outputs->at("y").data(), y.size() * sizeof(float));
  for (uint64_t e = 0; e < kRows * kColumns; ++e) {
    const float* a = &x[e / kColumns * kLength];
    const float* b = &w[e % kColumns * kLength];
    double expected = bias[e % kColumns];
    for (uint64_t k = 0; k < kLength; ++k) expected += double{a[k]} * b[k];
    const double tolerance = 2e-6 * std::sqrt(double{kLength}) + 1e-5 * std::abs(expected);
    CHECK(std::abs(y[e] - expected) <= tolerance);
  }
}

}  // namespace
}  // namespace oa::testing
