// VectorQuantizer: what it computes and tracks against the oracle's loops, its gradients, what it
// refuses.
#include <doctest/doctest.h>

#include <bit>

#include "absl/strings/match.h"
#include "tests/support/recording.h"

namespace oa::testing {
namespace {

namespace nn = ml::nn;
using reference::Tensor;

std::vector<Tensor> Oracle(const std::string& op, const std::vector<Tensor>& inputs,
                           const ir::Attributes& attributes = {}) {
  for (const reference::ReferenceOp& row : reference::VqReference()) {
    if (row.op == op) return row.forward(inputs, attributes);
  }
  FAIL("no oracle of ", op);
  return {};
}

Tensor InitialValue(const Recording& recording, const std::string& name, const Shape& shape) {
  for (const ir::Storage& storage : recording.graph().ir().storages()) {
    if (storage.name != name) continue;
    if (storage.init == InitKind::kData) return FromBytes(F32, shape, storage.data.bytes());
    Tensor filled(F32, shape);
    for (double& value : filled.data) value = std::bit_cast<float>(storage.fill_bits);
    return filled;
  }
  FAIL("no parameter ", name);
  return {};
}

constexpr nn::VectorQuantizerOptions kOptions = {
    .decay = 0.75f, .dead_threshold = 0.6f, .revival_seed = 5, .normalize = true};

// Codebook, sums and sizes of a layer with 12 codes of 6 columns, as the oracle moves them.
struct Codes {
  Tensor codebook, sum, size;

  explicit Codes(const Recording& recording)
      : codebook(InitialValue(recording, "vq.codebook", {12, 6})),
        sum(InitialValue(recording, "vq.embed_sum", {12, 6})),
        size(InitialValue(recording, "vq.cluster_size", {12})) {}

  // The results of vq_assign.
  std::vector<Tensor> Assign(const Tensor& rows) const {
    return Oracle("vq_assign", {rows, codebook});
  }
  void Update(const Tensor& rows) {
    const std::vector<Tensor> next =
        Oracle("vq_ema_update", {rows, Assign(rows)[0], sum, size, codebook},
               ir::Attributes()
                   .F32("decay", kOptions.decay)
                   .F32("epsilon", kOptions.epsilon)
                   .F32("dead_threshold", kOptions.dead_threshold)
                   .U32("seed", kOptions.revival_seed)
                   .Bool("normalize", kOptions.normalize));
    sum = next[0];
    size = next[1];
    codebook = next[2];
  }
};

void OutputAll(Recording& recording, const nn::VectorQuantizer& layer,
               const nn::VectorQuantizer::Output& y) {
  recording.Output("y", y.quantized);
  recording.Output("indices", y.indices);
  recording.Output("loss", y.commitment_loss);
  for (const Parameter& parameter : layer.parameters()) {
    recording.Output(parameter.name(), parameter);
  }
}

TEST_CASE("vq layer: training quantises by the codes of before and moves them") {
  if (TestDevice() == nullptr) return;
  for (int replays : {1, 3}) {
    Recording recording;
    const Matrix x = recording.Input("x", {5, 8, 6}, -2, 2);
    const nn::VectorQuantizer layer(recording.graph(), "vq", 12, 6, nn::Mode::kTraining, kOptions);
    OutputAll(recording, layer, Must(layer.Quantize(x)));
    recording.Run({.replays = replays});
    Tensor rows = recording.Value("x");
    rows.shape = {40, 6};
    Codes codes(recording);
    for (int i = 1; i < replays; ++i) codes.Update(rows);
    std::vector<Tensor> found = codes.Assign(rows);
    recording.Expect("indices", found[0]);
    double squares = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      squares += (rows[i] - found[1][i]) * (rows[i] - found[1][i]);
    }
    recording.Expect("loss", TensorOf(F32, {1}, {squares / static_cast<double>(rows.size())}),
                     {1e-5, 1e-5});
    found[1].shape = {5, 8, 6};
    recording.Expect("y", found[1], {2e-5, 1e-5});
    codes.Update(rows);
    recording.Expect("vq.codebook", codes.codebook, {2e-5, 1e-5});
    recording.Expect("vq.embed_sum", codes.sum, {2e-5, 1e-5});
    recording.Expect("vq.cluster_size", codes.size, {2e-5, 1e-5});
  }
}

TEST_CASE("vq layer: evaluation changes nothing, and a lookup gives its codes") {
  if (TestDevice() == nullptr) return;
  Recording recording;
  const Matrix x = recording.Input("x", {40, 6}, -2, 2);
  const nn::VectorQuantizer layer(recording.graph(), "vq", 12, 6, nn::Mode::kEvaluation);
  const nn::VectorQuantizer::Output y = Must(layer.Quantize(x));
  OutputAll(recording, layer, y);
  recording.Output("again", Must(layer.Lookup(y.indices)));
  recording.Run({.replays = 2});
  const Codes codes(recording);
  const std::vector<Tensor> found = codes.Assign(recording.Value("x"));
  recording.Expect("indices", found[0]);
  recording.Expect("again", found[1]);
  recording.Expect("y", found[1], {1e-6, 0});
  recording.Expect("vq.codebook", codes.codebook);
  recording.Expect("vq.embed_sum", codes.sum);
  recording.Expect("vq.cluster_size", codes.size);
}

TEST_CASE("vq layer: gradients go straight through, and from the commitment loss to the rows") {
  if (TestDevice() == nullptr) return;
  Recording recording;
  const Matrix x = recording.Input("x", {10, 6}, -2, 2);
  const Matrix g = recording.Input("g", {10, 6});
  const nn::VectorQuantizer layer(recording.graph(), "vq", 12, 6, nn::Mode::kTraining);
  const nn::VectorQuantizer::Output y = Must(layer.Quantize(x));
  const Matrix through = Must(matrix::sum(Must(matrix::mul(y.quantized, g))));
  const std::vector<Matrix> targets = {x};
  const ml::autograd::Gradients straight = Must(ml::autograd::Backward(through, targets));
  const ml::autograd::Gradients committed =
      Must(ml::autograd::Backward(y.commitment_loss, targets));
  CHECK(straight.parameters().empty());
  CHECK(committed.parameters().empty());
  recording.Output("straight", Must(straight.Of(x)));
  recording.Output("committed", Must(committed.Of(x)));
  recording.Output("y", y.quantized);
  recording.Run();
  recording.Expect("straight", recording.Value("g"));
  Tensor expected = recording.Value("x");
  const Tensor codes = recording.Value("y");
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = 2 * (expected[i] - codes[i]) / static_cast<double>(expected.size());
  }
  recording.Expect("committed", expected, {1e-6, 1e-5});
}

TEST_CASE("vq layer: parameters are frozen, equal in every graph and start as one row a code") {
  Recording a, b;
  const nn::VectorQuantizer first(a.graph(), "vq", 12, 6, nn::Mode::kTraining);
  const nn::VectorQuantizer second(b.graph(), "vq", 12, 6, nn::Mode::kEvaluation);
  CHECK_EQ(first.parameters().size(), 3);
  for (const Parameter& parameter : first.parameters()) CHECK_FALSE(parameter.requires_grad());
  const Codes of_a(a), of_b(b);
  CHECK(of_a.codebook.data == of_b.codebook.data);
  CHECK(of_a.codebook.data == of_a.sum.data);
  CHECK(of_a.size.data == std::vector<double>(12, 1.0));
}

// The call fails with InvalidArgument, says `text` and records nothing anywhere.
void CheckRefused(const nn::VectorQuantizer& layer, Graph& graph, const Matrix& x,
                  const std::string& text) {
  const size_t nodes = graph.ir().nodes().size(), values = graph.ir().values().size();
  const Result<nn::VectorQuantizer::Output> y = layer.Quantize(x);
  REQUIRE_FALSE(y.ok());
  CHECK_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
  CHECK_MESSAGE(absl::StrContains(y.status().message(), text), y.status().ToString());
  CHECK_EQ(graph.ir().nodes().size(), nodes);
  CHECK_EQ(graph.ir().values().size(), values);
}

TEST_CASE("vq layer: refusals") {
  Graph graph("g"), other("other");
  const Matrix x = graph.Input("x", F32, {4, 6});
  CheckRefused(nn::VectorQuantizer(graph, "wide", 12, 5, nn::Mode::kTraining), graph, x,
               "layer 'wide': the rows have 6 columns, the codes 5");
  CheckRefused(nn::VectorQuantizer(graph, "half", 12, 3, nn::Mode::kTraining), graph, x,
               "layer 'half': the rows have 6 columns, the codes 3");
  CheckRefused(nn::VectorQuantizer(graph, "decay", 12, 6, nn::Mode::kTraining, {.decay = 2}), graph,
               x, "layer 'decay': vq_ema_update: ");
  CheckRefused(nn::VectorQuantizer(graph, "empty", 0, 6, nn::Mode::kTraining), graph, x,
               "layer 'empty': vq_assign: ");
  CheckRefused(nn::VectorQuantizer(graph, "none", 12, 6, nn::Mode::kTraining), graph, Matrix(),
               "layer 'none': reshape: ");
  const nn::VectorQuantizer foreign(other, "foreign", 12, 6, nn::Mode::kTraining);
  CheckRefused(foreign, graph, x, "layer 'foreign': the rows are of graph 'g'");
  const nn::VectorQuantizer taken(graph, "decay", 12, 6, nn::Mode::kTraining);
  CHECK_EQ(taken.Quantize(x).status(), graph.status());
  CHECK_FALSE(graph.status().ok());
}

}  // namespace
}  // namespace oa::testing
