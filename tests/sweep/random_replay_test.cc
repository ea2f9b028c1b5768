// The replay counter: what repeats, what differs, and what a saved session continues.
#include <doctest/doctest.h>

#include <cstring>

#include "frontend/oa.h"
#include "ir/compile.h"
#include "ir/graph.h"
#include "ir/graph_io.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

constexpr char kCounter[] = "random.replay";
constexpr uint64_t kCount = 1000;

// Two equal draws, one with another seed, one of another kind, a dropout and its gradient.
void RecordDraws(Graph& graph) {
  graph.Output("a", Must(matrix::random_uniform(graph, {kCount}, 0, 1, 42)));
  graph.Output("b", Must(matrix::random_uniform(graph, {kCount}, 0, 1, 42)));
  graph.Output("c", Must(matrix::random_uniform(graph, {kCount}, 0, 1, 43)));
  graph.Output("n", Must(matrix::random_normal(graph, {kCount}, 0, 1, 42)));
  const Matrix x = graph.Input("x", DType::F32, {kCount});
  const Matrix y = Must(matrix::dropout(x, 0.25f, 42));
  graph.Output("y", y);
  const Matrix loss = Must(matrix::sum(y, std::nullopt));
  graph.Output("dx", Must(Must(ml::autograd::Backward(loss, {&x, 1})).Of(x)));
  REQUIRE(graph.status().ok());
}

// A program of RecordDraws, through a file, with as many sessions as asked for.
class Draws {
 public:
  Draws() {
    Graph recorded("draws");
    RecordDraws(recorded);
    const ir::Graph graph =
        Must(ir::ParseGraph(Blob::Own(Must(recorded.Serialize())), "draws.oag"));
    ir::CompileOptions compile;
    compile.profile = TestDevice()->info().profile;
    ir::Compiled compiled = Must(ir::Compile(graph, TestKernels(), compile));
    program_ = Must(exec::Program::Create(*TestDevice(), std::move(compiled.plan), TestKernels()));
    x_ = ToBytes(Fill(reference::Uniform({kCount}, 0.5, 2), 1));
  }

  std::unique_ptr<exec::Session> Start() { return Must(exec::Session::Create(*program_)); }

  exec::TensorMap Replay(exec::Session& session) {
    exec::InputMap inputs;
    inputs["x"] = x_;
    return Must(session.Run(inputs));
  }

  std::vector<float> x() const { return Floats(x_); }

  static std::vector<float> Floats(const Bytes& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::unique_ptr<exec::Program> program_;
  Bytes x_;
};

TEST_CASE("random: sessions draw equal numbers, replays fresh ones") {
  if (TestDevice() == nullptr) return;
  Draws draws;
  const auto first = draws.Start(), second = draws.Start();
  exec::TensorMap before;
  for (int replay = 0; replay < 3; ++replay) {
    const exec::TensorMap outputs = draws.Replay(*first);
    CHECK((outputs == draws.Replay(*second)));
    CHECK((outputs.at("a") == outputs.at("b")));
    CHECK((outputs.at("a") != outputs.at("c")));
    for (const auto& [name, bytes] : before) {
      INFO(name, ", replay ", replay);
      CHECK((bytes != outputs.at(name)));
    }
    before = outputs;
  }
  REQUIRE(first->Reset().ok());
  CHECK((draws.Replay(*first) == draws.Replay(*draws.Start())));
}

TEST_CASE("random: replay k draws with counter k") {
  if (TestDevice() == nullptr) return;
  Draws draws;
  const auto session = draws.Start();
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    if (op.op != "random_uniform") continue;
    for (uint32_t replay = 0; replay < 3; ++replay) {
      reference::Tensor counter(DType::U32, {1});
      counter[0] = replay;
      const reference::Tensor expected =
          op.forward({&counter, 1}, ir::Attributes()
                                        .List("shape", {int64_t{kCount}})
                                        .F32("low", 0)
                                        .F32("high", 1)
                                        .U64("seed", 42))[0];
      const reference::Tensor got = FromBytes(DType::F32, {kCount}, draws.Replay(*session).at("a"));
      CHECK_EQ(Compare(got, expected, reference::kExact), "");
    }
  }
}

TEST_CASE("random: a restored session continues the sequence") {
  if (TestDevice() == nullptr) return;
  Draws draws;
  const auto session = draws.Start();
  for (int replay = 0; replay < 2; ++replay) draws.Replay(*session);
  const Bytes saved = Must(session->ReadPersistent(kCounter));
  CHECK((saved == Bytes{2, 0, 0, 0}));
  const auto restored = draws.Start();
  REQUIRE(restored->WritePersistent(kCounter, saved).ok());
  for (int replay = 0; replay < 2; ++replay) {
    CHECK((draws.Replay(*restored) == draws.Replay(*session)));
  }
}

TEST_CASE("random: the gradient of dropout passes where the replay kept") {
  if (TestDevice() == nullptr) return;
  Draws draws;
  const auto session = draws.Start();
  const std::vector<float> x = draws.x();
  for (int replay = 0; replay < 3; ++replay) {
    const exec::TensorMap outputs = draws.Replay(*session);
    const std::vector<float> y = Draws::Floats(outputs.at("y"));
    const std::vector<float> dx = Draws::Floats(outputs.at("dx"));
    const std::vector<float> u = Draws::Floats(outputs.at("a"));
    size_t kept = 0;
    for (size_t i = 0; i < kCount; ++i) {
      CHECK_EQ(dx[i], u[i] >= 0.25f ? 1 / 0.75f : 0.0f);
      CHECK_EQ(y[i], x[i] * dx[i]);
      kept += dx[i] != 0;
    }
    CHECK(kept > 690);
    CHECK(kept < 810);
  }
}

TEST_CASE("random: a refused draw leaves no counter behind") {
  Graph graph("refused");
  const Matrix x = graph.Input("x", DType::F32, {3});
  CHECK_EQ(matrix::dropout(x, 1, 0).status().code(), absl::StatusCode::kInvalidArgument);
  CHECK_EQ(matrix::random_normal(graph, {}, 0, 1, 0).status().code(),
           absl::StatusCode::kInvalidArgument);
  CHECK_EQ(matrix::dropout(Matrix(), 0.5f, 0).status().code(), absl::StatusCode::kInvalidArgument);
  CHECK_EQ(graph.ir().storages().size(), 1u);
  CHECK_EQ(graph.ir().nodes().size(), 0u);
  CHECK(matrix::dropout(x, 0.5f, 0).ok());
  CHECK_EQ(graph.ir().nodes().size(), 2u);
  CHECK_FALSE(matrix::dropout(x, 2, 0).ok());
  CHECK(matrix::dropout(x, 0.5f, 0).ok());
  CHECK_EQ(graph.ir().nodes().size(), 3u);
}

TEST_CASE("random: a name that is taken is refused") {
  Graph graph("taken");
  graph.State(kCounter, DType::U32, {1});
  CHECK_EQ(matrix::random_uniform(graph, {3}, 0, 1, 0).status().code(),
           absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace oa::testing
