// Layers: what they compute against the oracle's loops, their names and labels, what they refuse.
#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "frontend/oa.h"
#include "ir/graph.h"
#include "tests/frontend/layer_rig.h"

namespace oa {
namespace {

namespace nn = ml::nn;
using reference::Tensor;
using testing::CheckClose;
using testing::CheckRefused;
using testing::Oracle;
using testing::RecordOne;
using testing::Rig;

ir::Attributes Epsilon() { return ir::Attributes().F32("epsilon", 1e-5f); }

TEST_CASE("nn: linear with and without a bias") {
  for (const bool bias : {true, false}) {
    Rig rig;
    const nn::Linear layer(rig.graph(), "fc", 5, 7, {.bias = bias});
    RecordOne(rig, layer, rig.Input("x", reference::Uniform({2, 3, 5})));
    CHECK_EQ(layer.parameters().size(), bias ? 2 : 1);
    if (!rig.Run()) return;
    CheckClose(rig.Value("y"), Oracle("linear", {rig.Value("x"), rig.Value("fc.weight"),
                                                 bias ? rig.Value("fc.bias") : Tensor()}));
  }
}

TEST_CASE("nn: embedding") {
  Rig rig;
  const nn::Embedding layer(rig.graph(), "bytes", 11, 6);
  RecordOne(rig, layer, rig.Input("x", reference::Integers(U8, {3, 4}, 0, 12)));
  if (!rig.Run()) return;
  CheckClose(rig.Value("y"), Oracle("gather", {rig.Value("bytes.table"), rig.Value("x")}));
}

TEST_CASE("nn: convolution with stride, padding and groups") {
  Rig rig;
  const nn::Conv2d layer(rig.graph(), "conv", 4, 6, 3, {.stride = 2, .padding = 1, .groups = 2});
  RecordOne(rig, layer, rig.Input("x", reference::Uniform({2, 4, 7, 5})));
  if (!rig.Run()) return;
  CheckClose(rig.Value("y"),
             Oracle("conv_2d", {rig.Value("x"), rig.Value("conv.weight"), rig.Value("conv.bias")},
                    ir::Attributes().I64("stride", 2).I64("padding", 1).I64("groups", 2)));
}

TEST_CASE("nn: layer_norm and rms_norm") {
  Rig rig;
  const Matrix x = rig.Input("x", reference::Uniform({6, 33}));
  const nn::LayerNorm layer_norm(rig.graph(), "ln", 33);
  const nn::RmsNorm rms_norm(rig.graph(), "rms", 33);
  RecordOne(rig, layer_norm, x);
  rig.Perturb(rms_norm);
  const Result<Matrix> z = rms_norm(x);
  REQUIRE(z.ok());
  rig.graph().Output("z", *z);
  if (!rig.Run()) return;
  CheckClose(rig.Value("y"),
             Oracle("layer_norm", {rig.Value("x"), rig.Value("ln.weight"), rig.Value("ln.bias")},
                    Epsilon()));
  CheckClose(rig.Value("z"),
             Oracle("rms_norm", {rig.Value("x"), rig.Value("rms.weight")}, Epsilon()));
}

TEST_CASE("nn: the gated feed-forward layer is its three products") {
  Rig rig;
  const nn::SwiGluMlp layer(rig.graph(), "mlp", 6, 10);
  RecordOne(rig, layer, rig.Input("x", reference::Uniform({4, 6})));
  if (!rig.Run()) return;
  const auto product = [&](const Tensor& x, const std::string& name) {
    return Oracle("linear", {x, rig.Value("mlp." + name + ".weight"), Tensor()});
  };
  const Tensor x = rig.Value("x");
  const Tensor hidden = Oracle("swiglu", {product(x, "gate"), product(x, "up")});
  CheckClose(rig.Value("y"), product(hidden, "down"));
}

TEST_CASE("nn: every parameter of an inner layer gets a gradient") {
  Graph graph("g");
  const nn::SwiGluMlp layer(graph, "mlp", 6, 10);
  const Result<Matrix> y = layer(graph.Input("x", F32, {4, 6}));
  REQUIRE(y.ok());
  const Result<Matrix> loss = matrix::sum(*y);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE(gradients.ok());
  for (const Parameter& parameter : layer.parameters()) CHECK(gradients->Of(parameter).ok());
}

// Mean and biased variance of a channel of [N, C, H, W].
std::pair<double, double> Statistics(const Tensor& x, uint64_t channel) {
  const uint64_t channels = x.shape[1], area = x.shape[2] * x.shape[3];
  double sum = 0, squares = 0, count = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i / area % channels != channel) continue;
    sum += x[i];
    count += 1;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (i / area % channels == channel) squares += (x[i] - sum / count) * (x[i] - sum / count);
  }
  return {sum / count, squares / count};
}

TEST_CASE("nn: batch norm in training normalises by the batch and tracks its statistics") {
  Rig rig;
  const nn::BatchNorm2d layer(rig.graph(), "bn", 3, nn::Mode::kTraining, {.momentum = 0.25f});
  const Result<Matrix> y = layer(rig.Input("x", reference::Uniform({2, 3, 5, 4}, -1, 3)));
  REQUIRE(y.ok());
  rig.graph().Output("y", *y);
  for (const Parameter& parameter : layer.parameters()) {
    rig.graph().Output(parameter.name(), parameter);
  }
  if (!rig.Run(/*replays=*/2)) return;
  const Tensor x = rig.Value("x");
  CheckClose(rig.Value("y"),
             Oracle("batch_norm_2d", {x, rig.Value("bn.weight"), rig.Value("bn.bias")}, Epsilon()));
  Tensor mean(F32, {3}), variance(F32, {3});
  for (uint64_t c = 0; c < 3; ++c) {
    const auto [batch_mean, batch_variance] = Statistics(x, c);
    mean[c] = (0.75 * 0.25 + 0.25) * batch_mean;
    variance[c] = 0.75 * 0.75 + (0.75 * 0.25 + 0.25) * batch_variance;
  }
  CheckClose(rig.Value("bn.running_mean"), mean);
  CheckClose(rig.Value("bn.running_variance"), variance);
}

TEST_CASE("nn: batch norm in evaluation normalises by the running statistics only") {
  Rig rig;
  const nn::BatchNorm2d layer(rig.graph(), "bn", 3, nn::Mode::kEvaluation);
  RecordOne(rig, layer, rig.Input("x", reference::Uniform({2, 3, 5, 4}, -1, 3)));
  if (!rig.Run()) return;
  CheckClose(rig.Value("y"),
             Oracle("batch_norm_2d_with_stats",
                    {rig.Value("x"), rig.Value("bn.running_mean"), rig.Value("bn.running_variance"),
                     rig.Value("bn.weight"), rig.Value("bn.bias")},
                    Epsilon()));
}

TEST_CASE("nn: running statistics are frozen") {
  Graph graph("g");
  const nn::BatchNorm2d layer(graph, "bn", 3, nn::Mode::kTraining);
  const Result<Matrix> y = layer(graph.Input("x", F32, {2, 3, 5, 4}));
  REQUIRE(y.ok());
  const Result<Matrix> loss = matrix::mean(*y);
  REQUIRE(loss.ok());
  const Result<ml::autograd::Gradients> gradients = ml::autograd::Backward(*loss);
  REQUIRE_MESSAGE(gradients.ok(), gradients.status().ToString());
  CHECK_EQ(gradients->parameters().size(), 2);
  ml::optim::Sgd optimiser;
  CHECK(optimiser.Step(*gradients).ok());
}

TEST_CASE("nn: equal names give equal parameters in every graph, different names different ones") {
  const auto first = [](const std::string& name) {
    Graph graph("g");
    const nn::Linear layer(graph, name, 8, 8);
    const ir::Storage& storage = graph.ir().storages()[0];
    CHECK_EQ(storage.name, name + ".weight");
    const Blob& data = storage.data;
    return std::vector<uint8_t>(data.bytes().begin(), data.bytes().end());
  };
  const bool same = first("a") == first("a");
  const bool different = first("a") != first("b");
  CHECK(same);
  CHECK(different);
}

TEST_CASE("nn: recorded operators carry the layer's name") {
  Graph graph("g");
  graph.SetLabel("outer");
  const nn::SwiGluMlp layer(graph, "mlp", 6, 10);
  REQUIRE(layer(graph.Input("x", F32, {4, 6})).ok());
  std::vector<std::string> labels;
  for (const ir::Node& node : graph.ir().nodes()) labels.push_back(node.label);
  CHECK_EQ(labels, std::vector<std::string>{"mlp.gate", "mlp.up", "mlp", "mlp.down"});
  CHECK_EQ(graph.label(), "outer");
}

TEST_CASE("nn: refused calls name the layer and the operator") {
  Graph graph("g");
  const Matrix rows = graph.Input("rows", F32, {4, 6});
  const Matrix image = graph.Input("image", F32, {2, 4, 5, 5});
  CheckRefused(graph, nn::Linear(graph, "fc", 5, 7), rows, "layer 'fc': linear: ");
  CheckRefused(graph, nn::Embedding(graph, "e", 5, 7), rows, "layer 'e': gather: ");
  CheckRefused(graph, nn::Conv2d(graph, "c", 3, 7, 3), image, "layer 'c': conv_2d: ");
  CheckRefused(graph, nn::BatchNorm2d(graph, "b", 3, nn::Mode::kTraining), image,
               "layer 'b': batch_norm_2d: ");
  CheckRefused(graph, nn::BatchNorm2d(graph, "be", 3, nn::Mode::kEvaluation), image,
               "layer 'be': batch_norm_2d_with_stats: ");
  CheckRefused(graph, nn::LayerNorm(graph, "l", 5), rows, "layer 'l': layer_norm: ");
  CheckRefused(graph, nn::RmsNorm(graph, "r", 6, 0), rows, "layer 'r': rms_norm: ");
  CheckRefused(graph, nn::SwiGluMlp(graph, "m", 6, 0), rows, "layer 'm': layer 'm.gate': linear: ");
  CheckRefused(graph, nn::Linear(graph, "none", 5, 7), Matrix(), "layer 'none': linear: ");
}

// Overwrites its parameter, then fails.
class HalfWay : public nn::Layer {
 public:
  explicit HalfWay(Graph& graph) : Layer(graph, "half") {
    total_ = Declare("total", {6}, init::Zeros());
  }
  Result<Matrix> operator()(const Matrix& x) const {
    return Record([&]() -> Result<Matrix> {
      OA_RETURN_IF_ERROR(matrix::accumulate(total_, x).status());
      return matrix::linear(x, x, nullptr);
    });
  }

 private:
  Parameter total_;
};

TEST_CASE("nn: what a layer recorded before the refusal is undone") {
  Graph graph("g");
  const HalfWay layer(graph);
  const int32_t before = layer.parameters()[0].data().id();
  CheckRefused(graph, layer, graph.Input("x", F32, {6}), "layer 'half': linear: ");
  CHECK_EQ(layer.parameters()[0].data().id(), before);
  CHECK_EQ(layer.parameters()[0].version(), 0);
  CHECK_EQ(graph.label(), "");
}

TEST_CASE("nn: an operand of another graph is refused") {
  Graph graph("g"), other("other");
  const nn::SwiGluMlp foreign(other, "mlp", 6, 10);
  CheckRefused(graph, foreign, graph.Input("rows", F32, {4, 6}), "graph 'other'");
  CHECK(other.ir().nodes().empty());
}

TEST_CASE("nn: impossible groups and names that are taken") {
  Graph graph("g");
  const Matrix image = graph.Input("image", F32, {2, 4, 5, 5});
  CheckRefused(graph, nn::Conv2d(graph, "three", 4, 6, 3, {.groups = 3}), image,
               "layer 'three': 3 groups do not divide 4 input and 6 output channels");
  CheckRefused(graph, nn::Conv2d(graph, "none", 4, 6, 3, {.groups = 0}), image, "0 groups");
  const nn::Linear first(graph, "fc", 5, 7);
  CHECK(graph.status().ok());
  const nn::Linear second(graph, "fc", 5, 7);
  CHECK(absl::StrContains(graph.status().message(), "'fc.weight'"));
  CHECK_EQ(second(image).status(), graph.status());
}

}  // namespace
}  // namespace oa
