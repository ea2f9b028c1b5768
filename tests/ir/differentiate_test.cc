// The structure of recorded adjoints; their values are checked by the sweep.
#include "ir/differentiate.h"

#include <doctest/doctest.h>

#include "ir/op.h"
#include "tests/ir/graph_fixture.h"

namespace oa::ir {
namespace {

constexpr BufferKind kInput = BufferKind::kInput;
constexpr BufferKind kParameter = BufferKind::kParameter;

std::vector<std::string> OpsFrom(const Graph& graph, size_t first) {
  std::vector<std::string> ops;
  for (size_t n = first; n < graph.nodes().size(); ++n) ops.push_back(graph.nodes()[n].op->name);
  return ops;
}

absl::Status DifferentiateFails(Graph& graph, ValueId root, const std::vector<ValueId>& targets) {
  const std::string before = DumpGraph(graph);
  const absl::Status status = Differentiate(graph, root, targets).status();
  CHECK_FALSE(status.ok());
  CHECK_EQ(DumpGraph(graph), before);
  return status;
}

TEST_CASE("differentiate: a chain, and only what is needed") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {3});
  const ValueId unused = Declare(graph, kInput, "unused", {3});
  const ValueId y = Call(graph, "tanh", {x});
  const ValueId side = Call(graph, "relu", {unused});
  const ValueId z = Call(graph, "mul", {y, side});
  const ValueId loss = SumAll(graph, z);
  const size_t forward = graph.nodes().size();
  const std::vector<ValueId> gradients = Must(Differentiate(graph, loss, {x, y}));
  REQUIRE_EQ(gradients.size(), 2);
  CHECK_EQ(graph.value(gradients[0]).shape, Shape{3});
  CHECK_EQ(graph.value(gradients[1]).shape, Shape{3});
  const std::vector<std::string> ops = OpsFrom(graph, forward);
  CHECK_EQ(ops.front(), "full");
  CHECK_EQ(ops.back(), "tanh_backward");
  CHECK_EQ(std::count(ops.begin(), ops.end(), "relu_backward"), 0);
}

TEST_CASE("differentiate: contributions are added, the earlier one first") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {1});
  const ValueId a = Call(graph, "tanh", {x});
  const ValueId b = Call(graph, "sigmoid", {x});
  const ValueId loss = Call(graph, "add", {a, b});
  const std::vector<ValueId> gradients = Must(Differentiate(graph, loss, {x}));
  const Node& sum = graph.nodes()[graph.value(gradients[0]).producer];
  CHECK_EQ(sum.op->name, "add");
  // Reverse recording order: sigmoid's adjoint comes first.
  CHECK_EQ(graph.nodes()[graph.value(sum.inputs[0]).producer].op->name, "sigmoid_backward");
  CHECK_EQ(graph.nodes()[graph.value(sum.inputs[1]).producer].op->name, "tanh_backward");
}

TEST_CASE("differentiate: one value as both operands receives both contributions") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {1});
  const ValueId loss = Call(graph, "add", {x, x});
  const ValueId gradient = Must(Differentiate(graph, loss, {x}))[0];
  const Node& sum = graph.nodes()[graph.value(gradient).producer];
  CHECK_EQ(sum.op->name, "add");
  CHECK_EQ(sum.inputs[0], sum.inputs[1]);
}

TEST_CASE("differentiate: the root's own gradient is one, unrelated values have none") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {1, 1});
  const ValueId w = Declare(graph, kParameter, "w", {4});
  const ValueId loss = Call(graph, "relu", {x});
  const std::vector<ValueId> none = Must(Differentiate(graph, loss, {w}));
  CHECK_EQ(none[0], kAbsent);
  CHECK_EQ(graph.nodes().size(), 1);  // nothing recorded
  const std::vector<ValueId> own = Must(Differentiate(graph, loss, {loss, w}));
  CHECK_EQ(own[1], kAbsent);
  CHECK_EQ(OpsFrom(graph, 1), std::vector<std::string>{"full"});
  CHECK_EQ(graph.value(own[0]).shape, Shape{1, 1});
  CHECK_EQ(graph.nodes()[1].attributes.f32("value"), 1);
}

TEST_CASE("differentiate: views pass gradients by value, detach stops them") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {2, 3});
  const ValueId view = Call(graph, "reshape", {x}, Attributes().List("shape", {6}));
  const ValueId loss = SumAll(graph, Call(graph, "tanh", {view}));
  const std::vector<ValueId> gradients = Must(Differentiate(graph, loss, {x, view}));
  CHECK_EQ(graph.value(gradients[0]).shape, Shape{2, 3});
  CHECK_EQ(graph.value(gradients[1]).shape, Shape{6});

  const ValueId cut = Call(graph, "detach", {x});
  const ValueId blind = SumAll(graph, Call(graph, "tanh", {cut}));
  CHECK_EQ(Must(Differentiate(graph, blind, {x}))[0], kAbsent);
  CHECK_NE(Must(Differentiate(graph, blind, {cut}))[0], kAbsent);
}

TEST_CASE("differentiate: integer values carry no gradient") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {3});
  const ValueId n = Call(graph, "cast", {x}, Attributes().Token("dtype", "i32"));
  const ValueId y = Call(graph, "cast", {n}, Attributes().Token("dtype", "f32"));
  const ValueId loss = SumAll(graph, y);
  CHECK_EQ(Must(Differentiate(graph, loss, {x}))[0], kAbsent);
}

TEST_CASE("differentiate: arguments") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {2});
  const ValueId n = Declare(graph, kInput, "n", {1}, DType::I32);
  OA_CHECK_STATUS(DifferentiateFails(graph, x, {x}), kInvalidArgument, "f32[2]");
  OA_CHECK_STATUS(DifferentiateFails(graph, n, {x}), kInvalidArgument, "i32[1]");
  OA_CHECK_STATUS(DifferentiateFails(graph, 5, {x}), kInvalidArgument, "value 5");
  OA_CHECK_STATUS(DifferentiateFails(graph, SumAll(graph, x), {-1}), kInvalidArgument, "value -1");
}

TEST_CASE("differentiate: no second order") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {2});
  const ValueId loss = SumAll(graph, Call(graph, "tanh", {x}));
  const ValueId gradient = Must(Differentiate(graph, loss, {x}))[0];
  const ValueId again = SumAll(graph, gradient);
  OA_CHECK_STATUS(DifferentiateFails(graph, again, {x}), kUnimplemented, "tanh_backward");
}

struct Trained {
  Graph graph{"g"};
  ValueId x, w, loss, w1;
};

// loss = sum(w * x), then w is updated.
Trained Train() {
  Trained t;
  t.x = Declare(t.graph, kInput, "x", {3});
  t.w = Declare(t.graph, kParameter, "w", {3});
  t.loss = SumAll(t.graph, Call(t.graph, "mul", {t.w, t.x}));
  const ValueId gradient = Must(Differentiate(t.graph, t.loss, {t.w}))[0];
  t.w1 = Call(t.graph, "accumulate", {t.w, gradient});
  return t;
}

TEST_CASE("differentiate: an overwritten parameter is refused, by old and new value") {
  Trained t = Train();
  for (const std::vector<ValueId>& targets :
       {std::vector<ValueId>{t.w}, std::vector<ValueId>{t.w1}, std::vector<ValueId>{t.x}}) {
    const absl::Status status = DifferentiateFails(t.graph, t.loss, targets);
    OA_CHECK_STATUS(status, kFailedPrecondition, "parameter 'w'");
    OA_CHECK_STATUS(status, kFailedPrecondition, "mul#0");
  }
}

TEST_CASE("differentiate: a second step after the update differentiates the new version") {
  Trained t = Train();
  const ValueId loss = SumAll(t.graph, Call(t.graph, "mul", {t.w1, t.x}));
  const size_t before = t.graph.nodes().size();
  const std::vector<ValueId> gradients = Must(Differentiate(t.graph, loss, {t.w1}));
  CHECK_NE(gradients[0], kAbsent);
  // Nothing flows through the update into the first step.
  for (const std::string& op : OpsFrom(t.graph, before)) CHECK_NE(op, "accumulate_backward");
  for (size_t n = before; n < t.graph.nodes().size(); ++n) {
    for (ValueId input : t.graph.nodes()[n].inputs) CHECK_NE(input, t.w);
  }
}

TEST_CASE("differentiate: adjoint nodes carry the label of their call") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {1});
  const ValueId y = Must(graph.Record("tanh", {x}, {}, {"encoder", {}}))[0];
  Must(Differentiate(graph, y, {x}));
  CHECK_EQ(graph.nodes().back().label, "encoder");
}

TEST_CASE("differentiate: operands that are absent or not needed have no gradient node") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {4, 3});
  const ValueId w = Declare(graph, kParameter, "w", {2, 3});
  const ValueId loss = SumAll(graph, Call(graph, "linear", {x, w, kAbsent}));
  const std::vector<ValueId> gradients = Must(Differentiate(graph, loss, {w}));
  CHECK_EQ(graph.value(gradients[0]).shape, Shape{2, 3});
  for (const Value& value : graph.values()) CHECK_NE(value.shape, Shape{2});  // no bias gradient
}

TEST_CASE("differentiate: a saved value that was overwritten cannot be read any more") {
  Graph graph("g");
  const ValueId x = Declare(graph, kInput, "x", {1});
  const ValueId s = Declare(graph, BufferKind::kState, "s", {1});
  const ValueId y = Call(graph, "tanh", {s});
  const ValueId s1 = Call(graph, "accumulate", {s, y});
  // The adjoint of tanh reads y only; mul's reads s as well, after the update it depends on.
  CHECK(Differentiate(graph, y, {s}).ok());
  const ValueId product = Call(graph, "mul", {s1, x});
  CHECK(Differentiate(graph, product, {x}).ok());
  Graph late("late");
  const ValueId a = Declare(late, BufferKind::kState, "a", {1});
  const ValueId b = Declare(late, kInput, "b", {1});
  const ValueId ab = Call(late, "mul", {a, b});
  const ValueId a1 = Call(late, "accumulate", {a, b});
  const ValueId loss = Call(late, "mul", {ab, a1});
  OA_CHECK_STATUS(DifferentiateFails(late, loss, {b}), kFailedPrecondition, "backward of mul#0");
}

}  // namespace
}  // namespace oa::ir
