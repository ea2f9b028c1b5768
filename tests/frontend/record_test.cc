// The recording API: errors as values, engines, handles on in-place versions, optimisers.
#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "frontend/oa.h"
#include "ir/graph.h"

namespace oa {
namespace {

TEST_CASE("record: operands of different graphs are rejected") {
  Graph one("one"), two("two");
  const Matrix a = one.Input("a", F32, {2, 3});
  const Matrix b = two.Input("b", F32, {2, 3});
  const Result<Matrix> sum = matrix::add(a, b);
  REQUIRE_FALSE(sum.ok());
  CHECK_EQ(sum.status().code(), absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(sum.status().message(), "'two'"));
  CHECK(one.ir().nodes().empty());
  CHECK(two.ir().nodes().empty());
}

TEST_CASE("record: a default-constructed matrix is rejected") {
  CHECK_EQ(ml::matrix::relu(Matrix()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("record: a failed declaration stays the graph's status") {
  Graph graph("g");
  graph.Input("x", F32, {2});
  const Matrix twice = graph.Input("x", F32, {2});
  CHECK_FALSE(twice.valid());
  REQUIRE_FALSE(graph.status().ok());
  CHECK_EQ(ml::matrix::relu(twice).status(), graph.status());
  CHECK_EQ(graph.Save("/nonexistent/never.oag"), graph.status());
}

TEST_CASE("record: an output of another graph is refused") {
  Graph one("one"), two("two");
  one.Output("y", two.Input("x", F32, {1}));
  CHECK_EQ(one.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("record: states follow their newest version") {
  Graph graph("g");
  const State total = graph.State("total", {4}, init::Zeros());
  const Matrix x = graph.Input("x", F32, {4});
  const Matrix before = total;
  REQUIRE(matrix::accumulate(total, x).ok());
  CHECK_NE(total.value().id(), before.id());
  CHECK_EQ(graph.ir().value(total.value().id()).version, 1);
}

TEST_CASE("record: reading an old version is ordered before the overwrite or refused") {
  Graph graph("g");
  const State total = graph.State("total", {4}, init::Zeros());
  const Matrix x = graph.Input("x", F32, {4});
  const Matrix before = total;
  const Result<Matrix> after = matrix::accumulate(total, x);
  REQUIRE(after.ok());
  CHECK(matrix::scale(before, 2).ok());
  const Result<Matrix> cycle = matrix::add(before, *after);
  REQUIRE_FALSE(cycle.ok());
  CHECK_EQ(cycle.status().code(), absl::StatusCode::kFailedPrecondition);
}

Result<Matrix> SquaredError(Graph& graph, const Parameter& w) {
  const Matrix x = graph.Input("x", F32, {3, 4});
  const Matrix target = graph.Input("target", F32, {3, 2});
  OA_ASSIGN_OR_RETURN(Matrix y, matrix::linear(x, w, nullptr));
  return ml::loss::mse(y, target);
}

TEST_CASE("record: a backward pass after the parameter moved fails and records nothing") {
  Graph graph("g");
  const Parameter w = graph.Param("w", {2, 4}, init::KaimingUniform(1));
  const Result<Matrix> loss = SquaredError(graph, w);
  REQUIRE(loss.ok());
  Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE(gradients.ok());
  ml::optim::Sgd optimiser;
  REQUIRE(optimiser.Step(*gradients).ok());
  CHECK_EQ(w.version(), 1);
  const size_t nodes = graph.ir().nodes().size();
  const Result<ml::autograd::Gradients> late = ml::autograd::Backward(*loss);
  CHECK_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(late.status().message(), "w"));
  CHECK_EQ(graph.ir().nodes().size(), nodes);
}

TEST_CASE("record: a frozen parameter gets no gradient") {
  Graph graph("g");
  const Parameter w = graph.Param("w", {2, 4}, init::Ones(), /*requires_grad=*/false);
  const Result<Matrix> loss = SquaredError(graph, w);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE(gradients.ok());
  CHECK(gradients->parameters().empty());
  CHECK_EQ(gradients->Of(w).status().code(), absl::StatusCode::kNotFound);
  CHECK_EQ(ml::optim::AdamW().Step(*gradients).code(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("record: gradients of inputs and intermediates") {
  Graph graph("g");
  const Matrix x = graph.Input("x", F32, {5});
  const Result<Matrix> y = ml::matrix::tanh(x);
  REQUIRE(y.ok());
  const Result<Matrix> loss = matrix::sum(*y);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss, {x, *y});
  REQUIRE(gradients.ok());
  CHECK_EQ(gradients->Of(x)->shape(), x.shape());
  CHECK(gradients->Of(*y).ok());
}

TEST_CASE("record: clipping copes with parameters that share a gradient") {
  Graph graph("g");
  const Parameter a = graph.Param("a", {3}, init::Ones());
  const Parameter b = graph.Param("b", {3}, init::Ones());
  const Result<Matrix> sum = matrix::add(a, b);
  REQUIRE(sum.ok());
  const Result<Matrix> loss = matrix::sum(*sum);
  REQUIRE(loss.ok());
  Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE(gradients.ok());
  const Result<Matrix> norm = ml::optim::clip_grad_norm(*gradients, 1);
  REQUIRE_MESSAGE(norm.ok(), norm.status().ToString());
  ml::optim::Sgd optimiser;
  CHECK(optimiser.Step(*gradients).ok());
}

// a and b share one gradient.
Result<ml::autograd::Gradients> SharedGradient(Graph& graph) {
  const Parameter a = graph.Param("a", {3}, init::Ones());
  const Parameter b = graph.Param("b", {3}, init::Ones());
  OA_ASSIGN_OR_RETURN(const Matrix sum, matrix::add(a, b));
  OA_ASSIGN_OR_RETURN(const Matrix loss, matrix::sum(sum));
  return ml::autograd::Backward(loss);
}

TEST_CASE("record: clipping that is refused records nothing, not even copies") {
  Graph graph("g");
  Result<ml::autograd::Gradients> gradients = SharedGradient(graph);
  REQUIRE(gradients.ok());
  const size_t nodes = graph.ir().nodes().size();
  CHECK_EQ(ml::optim::clip_grad_norm(*gradients, 0).status().code(),
           absl::StatusCode::kInvalidArgument);
  CHECK_EQ(graph.ir().nodes().size(), nodes);
  gradients->SetParameterGradient(1, Matrix());
  CHECK_EQ(ml::optim::clip_grad_norm(*gradients, 1).status().code(),
           absl::StatusCode::kInvalidArgument);
  CHECK_EQ(ml::optim::AdamW().Step(*gradients).code(), absl::StatusCode::kInvalidArgument);
  CHECK_EQ(graph.ir().nodes().size(), nodes);
}

TEST_CASE("record: a second optimiser of the same name is refused, and the graph stays usable") {
  Graph graph("g");
  const Result<ml::autograd::Gradients> gradients = SharedGradient(graph);
  REQUIRE(gradients.ok());
  REQUIRE(ml::optim::Adam().Step(*gradients).ok());
  const size_t nodes = graph.ir().nodes().size();
  CHECK_EQ(ml::optim::Adam().Step(*gradients).code(), absl::StatusCode::kInvalidArgument);
  CHECK_EQ(graph.ir().nodes().size(), nodes);
  CHECK(graph.status().ok());
  CHECK(ml::optim::Adam({.name = "other"}).Step(*gradients).ok());
}

TEST_CASE("record: two uses of a bf16 value add their gradients") {
  Graph graph("g");
  const Matrix x = graph.Input("x", F32, {5});
  const Result<Matrix> half = matrix::cast(x, BF16);
  REQUIRE(half.ok());
  const Result<Matrix> a = matrix::cast(*half, F32), b = matrix::cast(*half, F32);
  REQUIRE((a.ok() && b.ok()));
  const Result<Matrix> product = matrix::mul(*a, *b);
  REQUIRE(product.ok());
  const Result<Matrix> loss = matrix::sum(*product);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss, {x, *half});
  REQUIRE_MESSAGE(gradients.ok(), gradients.status().ToString());
  CHECK_EQ(gradients->Of(x)->dtype(), F32);
  CHECK_EQ(gradients->Of(*half)->dtype(), BF16);
}

TEST_CASE("record: two recordings of one program are byte-identical") {
  std::vector<uint8_t> bytes[2];
  for (std::vector<uint8_t>& file : bytes) {
    Graph graph("g");
    const Parameter w = graph.Param("w", {2, 4}, init::Normal(0, 1, 9));
    const Result<Matrix> loss = SquaredError(graph, w);
    REQUIRE(loss.ok());
    graph.Output("loss", *loss);
    Result<std::vector<uint8_t>> serialised = graph.Serialize();
    REQUIRE(serialised.ok());
    file = *std::move(serialised);
  }
  const bool identical = bytes[0] == bytes[1];
  CHECK(identical);
}

TEST_CASE("record: an optimiser step that is refused leaves the graph as it was") {
  Graph graph("g");
  const Parameter w = graph.Param("w", {2, 4}, init::Ones());
  const Result<Matrix> loss = SquaredError(graph, w);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE(gradients.ok());
  const size_t nodes = graph.ir().nodes().size();
  const size_t storages = graph.ir().storages().size();
  ml::optim::AdamW optimiser({.beta1 = 1.5f});
  CHECK_EQ(optimiser.Step(*gradients).code(), absl::StatusCode::kInvalidArgument);
  CHECK_EQ(graph.ir().nodes().size(), nodes);
  CHECK_EQ(graph.ir().storages().size(), storages);
  CHECK_EQ(w.version(), 0);
}

}  // namespace
}  // namespace oa
