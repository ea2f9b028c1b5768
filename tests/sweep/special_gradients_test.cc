// Gradients where differences mean nothing: kinks and bounds, which have a ruled value each, types
// that round, and operators that cut the gradient.
#include <doctest/doctest.h>

#include "ir/differentiate.h"
#include "ir/op.h"
#include "tests/support/device.h"
#include "tests/support/must.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using ir::Attributes;
using reference::Tensor;

struct SpecialGradient {
  const char* op;
  Attributes attributes;
  std::vector<double> x;
  std::vector<double> dx;  // for an incoming gradient of 1
};

const std::vector<SpecialGradient>& SpecialGradients() {
  static const auto& table = *new std::vector<SpecialGradient>({
      {"relu", {}, {-1, 0, 1}, {0, 0, 1}},
      {"leaky_relu", Attributes().F32("alpha", 0.25f), {-1, 0, 1}, {0.25, 0.25, 1}},
      {"elu", Attributes().F32("alpha", 0.5f), {-100, 0, 1}, {0, 0.5, 1}},
      {"gelu",
       {},
       {-3, -1, -0.5, 0, 0.5, 1, 3},
       {-0.0115841666, -0.0829640838, 0.1326300965, 0.5, 0.8673699035, 1.0829640838, 1.0115841666}},
      {"mish",
       {},
       {-3, -1, -0.5, 0, 0.5, 1, 3},
       {-0.0933931145, 0.0592167559, 0.2895106779, 0.6, 0.8864243754, 1.0490362201, 1.0211069109}},
      {"gelu", {}, {-1e30, -100, 100, 1e30}, {0, 0, 1, 1}},
      {"silu", {}, {-1e30, -100, 100, 1e30}, {0, 0, 1, 1}},
      {"mish", {}, {-1e30, -100, 100, 1e30}, {0, 0, 1, 1}},
      {"softplus", {}, {-1e30, -100, 100, 1e30}, {0, 0, 1, 1}},
      {"sigmoid", {}, {-1e30, 1e30}, {0, 0}},
      {"tanh", {}, {-1e30, 1e30}, {0, 0}},
      {"abs", {}, {-2, 0, 2}, {-1, 0, 1}},
      {"clamp_min", Attributes().F32("scalar", 0.5f), {0, 0.5, 1}, {0, 1, 1}},
      {"clamp_max", Attributes().F32("scalar", 0.5f), {0, 0.5, 1}, {1, 1, 0}},
      {"pow", Attributes().F32("scalar", 2), {-3, 0, 3}, {-6, 0, 6}},
      {"pow", Attributes().F32("scalar", 1), {-3, 0, 3}, {1, 1, 1}},
      {"pow", Attributes().F32("scalar", 0), {-3, 0, 3}, {0, 0, 0}},
  });
  return table;
}

// A graph with one F32 input after the other; gradients become outputs.
class GradientGraph {
 public:
  ir::Graph& graph() { return graph_; }

  ir::ValueId Input(const Tensor& x) {
    const std::string name = "x" + std::to_string(inputs_.size());
    inputs_[name] = ToBytes(x);
    return Must(graph_.AddStorage(BufferKind::kInput, name, x.dtype, x.shape));
  }
  ir::ValueId Record(const char* op, std::vector<ir::ValueId> operands,
                     const Attributes& attributes = {}) {
    return Must(graph_.Record(op, operands, attributes))[0];
  }
  // The gradient of sum(y) with respect to x is to be `dx`.
  void Expect(ir::ValueId y, ir::ValueId x, const Tensor& dx) {
    const ir::ValueId loss = Record("sum", {y}, Attributes().Optional("axis", std::nullopt));
    const ir::ValueId gradient = Must(ir::Differentiate(graph_, loss, {x}))[0];
    REQUIRE_NE(gradient, ir::kAbsent);
    const std::string name = "gradient" + std::to_string(expected_.size());
    REQUIRE(graph_.AddOutput(name, gradient).ok());
    expected_[name] = dx;
  }
  void Run(reference::Tolerance tolerance) {
    const exec::TensorMap outputs = Must(RunGraph(graph_, inputs_));
    for (const auto& [name, dx] : expected_) {
      INFO(name);
      CHECK_EQ(Compare(FromBytes(dx.dtype, dx.shape, outputs.at(name)), dx, tolerance), "");
    }
  }

 private:
  ir::Graph graph_{"gradients"};
  std::map<std::string, Bytes> inputs_;
  std::map<std::string, Tensor> expected_;
};

Tensor Vector(const std::vector<double>& values) {
  Tensor tensor(DType::F32, {values.size()});
  tensor.data = values;
  return tensor;
}

TEST_CASE("special gradients: kinks, bounds and tails have their ruled values") {
  if (TestDevice() == nullptr) return;
  GradientGraph graph;
  for (const SpecialGradient& special : SpecialGradients()) {
    const ir::ValueId x = graph.Input(Vector(special.x));
    graph.Expect(graph.Record(special.op, {x}, special.attributes), x, Vector(special.dx));
  }
  graph.Run({2e-6, 2e-6});
}

TEST_CASE("special gradients: elementwise losses at ties, bce at the clamp") {
  if (TestDevice() == nullptr) return;
  GradientGraph graph;
  const auto expect = [&graph](const char* op, const Attributes& attributes, double p, double t,
                               double dp) {
    const ir::ValueId x = graph.Input(Vector({p}));
    const ir::ValueId target = graph.Input(Vector({t}));
    graph.Expect(graph.Record(op, {x, target}, attributes), x, Vector({dp}));
  };
  expect("l1", {}, 0.5, 0.5, 0);
  expect("smooth_l1", Attributes().F32("beta", 0.5f), 0.5, 0.5, 0);
  expect("smooth_l1", Attributes().F32("beta", 0.5f), 1.0, 0.5, 1);
  expect("bce", {}, 0, 0, 1 / (1 - 1e-7));
  expect("bce", {}, 0, 1, (1e-7 - 1) / (1e-7 * (1 - 1e-7)));
  expect("bce", {}, 1, 0, (1 - 1e-7) / (1e-7 * (1 - 1e-7)));
  expect("bce", {}, NAN, 0, NAN);
  graph.Run({2e-6, 2e-6});
}

TEST_CASE("special gradients: casts to and from bf16 round the gradient on its way back") {
  if (TestDevice() == nullptr) return;
  GradientGraph graph;
  const ir::ValueId x = graph.Input(Vector({1, 2, 3}));
  const ir::ValueId w = graph.Input(Vector({1.00390625, 1.01171875, -3.5}));  // two ties
  const ir::ValueId half = graph.Record("cast", {x}, Attributes().Token("dtype", "bf16"));
  const ir::ValueId back = graph.Record("cast", {half}, Attributes().Token("dtype", "f32"));
  graph.Expect(graph.Record("mul", {back, w}), x, Vector({1, 1.015625, -3.5}));
  // Two uses of a bf16 value: the sum of both rounded gradients is rounded again.
  const ir::ValueId again = graph.Record("cast", {half}, Attributes().Token("dtype", "f32"));
  const ir::ValueId both = graph.Record("add", {graph.Record("mul", {back, w}), again});
  graph.Expect(both, x, Vector({2, 2.015625, -2.5}));
  graph.Run(reference::kExact);
}

TEST_CASE("special gradients: detach, comparisons and integer casts cut the gradient") {
  GradientGraph graph;
  const ir::ValueId x = graph.Input(Vector({-1, 0, 1}));
  const ir::ValueId integer = graph.Record("cast", {x}, Attributes().Token("dtype", "i32"));
  const std::vector<ir::ValueId> cut = {
      graph.Record("detach", {x}),
      graph.Record("equal", {x}, Attributes().F32("value", 0)),
      graph.Record("greater_equal", {x}, Attributes().F32("value", 0)),
      graph.Record("cast", {integer}, Attributes().Token("dtype", "f32")),
  };
  for (ir::ValueId y : cut) {
    const ir::ValueId loss = graph.Record("sum", {y}, Attributes().Optional("axis", std::nullopt));
    CHECK_EQ(Must(ir::Differentiate(graph.graph(), loss, {x}))[0], ir::kAbsent);
  }
}

TEST_CASE("special gradients: rows that do not count and rows with a bad label") {
  if (TestDevice() == nullptr) return;
  GradientGraph graph;
  const auto expect = [&graph](std::vector<double> labels, std::optional<int64_t> ignore,
                               std::vector<double> dlogits) {
    Tensor logits(DType::F32, {2, 2}), classes(DType::I32, {2}), expected(DType::F32, {2, 2});
    classes.data = std::move(labels);
    expected.data = std::move(dlogits);
    const ir::ValueId x = graph.Input(logits);
    const ir::ValueId y = graph.Input(classes);
    graph.Expect(
        graph.Record("cross_entropy", {x, y}, Attributes().Optional("ignore_index", ignore)), x,
        expected);
  };
  expect({1, 0}, std::nullopt, {0.25, -0.25, -0.25, 0.25});
  expect({1, 0}, 0, {0.5, -0.5, 0, 0});
  expect({0, 0}, 0, {0, 0, 0, 0});
  expect({2, 0}, std::nullopt, {NAN, NAN, -0.25, 0.25});
  expect({-1, 0}, std::nullopt, {NAN, NAN, -0.25, 0.25});
  graph.Run({2e-6, 2e-6});
}

}  // namespace
}  // namespace oa::testing
