// Damaged files behind a correct digest: every mutation of a valid graph, plan and pack is either
// accepted or refused with a status, never a crash. Under the sanitizer preset any bad access
// fails.
#include <doctest/doctest.h>

#include <random>

#include "frontend/oa.h"
#include "ir/compile.h"
#include "ir/graph.h"
#include "schema/plan.h"
#include "tests/fuzz/load_any.h"
#include "tests/support/device.h"

namespace oa::testing {
namespace {

std::unique_ptr<Graph> SmallTraining() {
  auto graph = std::make_unique<Graph>("small");
  const Matrix x = graph->Input("x", F32, {5, 3});
  const Matrix labels = graph->Input("labels", U8, {5});
  const Parameter w = graph->Param("w", {4, 3}, init::KaimingUniform(1));
  const Result<Matrix> logits = matrix::linear(x, w, nullptr);
  REQUIRE(logits.ok());
  const Result<Matrix> loss = ml::loss::cross_entropy(*logits, labels);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE(gradients.ok());
  ml::optim::AdamW optimiser;
  REQUIRE(optimiser.Step(*gradients).ok());
  graph->Output("loss", *loss);
  return graph;
}

void Mutate(const std::vector<uint8_t>& original, int rounds) {
  REQUIRE(LoadAny(original));
  std::mt19937_64 random(1);
  // The tables sit in front; damage to weights and SPIR-V behind them is less interesting.
  const size_t range = std::min<size_t>(original.size(), 24576);
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    std::vector<uint8_t> file = original;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      file[64 + random() % (range - 64)] = static_cast<uint8_t>(random());
    }
    FixDigest(file);
    accepted += LoadAny(file) ? 1 : 0;
  }
  MESSAGE(accepted, " of ", rounds, " mutations changed nothing that matters");
}

TEST_CASE("mutation: graphs") {
  const std::unique_ptr<Graph> graph = SmallTraining();
  const Result<std::vector<uint8_t>> file = graph->Serialize();
  REQUIRE(file.ok());
  Mutate(*file, 4000);
}

TEST_CASE("mutation: plans") {
  const std::unique_ptr<Graph> graph = SmallTraining();
  const absl::StatusOr<ir::Compiled> compiled = ir::Compile(graph->ir(), TestKernels(), {});
  REQUIRE_MESSAGE(compiled.ok(), compiled.status().ToString());
  Mutate(SerializePlan(compiled->plan), 4000);
}

TEST_CASE("mutation: kernel packs") {
  const std::vector<Kernel> few(TestKernels().kernels().begin(),
                                TestKernels().kernels().begin() + 3);
  Mutate(KernelPack(few, "test").Serialize(), 2000);
}

TEST_CASE("mutation: every truncation of a graph is refused") {
  const std::unique_ptr<Graph> graph = SmallTraining();
  const Result<std::vector<uint8_t>> file = graph->Serialize();
  REQUIRE(file.ok());
  for (size_t size = 0; size < file->size(); ++size) {
    std::vector<uint8_t> cut(file->begin(), file->begin() + size);
    CHECK_FALSE(LoadAny(cut));
    FixDigest(cut);
    CHECK_FALSE(LoadAny(cut));
  }
}

}  // namespace
}  // namespace oa::testing
