// The sparse layer of experts against the dense one, in value and gradient, also with dropped
// routes; grouped products with offsets that are no offsets.
#include <doctest/doctest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "tests/reference/moe_routes.h"
#include "tests/support/recording.h"

namespace oa::testing {
namespace {

using oa::matrix::MoeExpertPlan;
using reference::kNoRoute;
using reference::Tensor;

struct Layer {
  uint64_t tokens, routes, experts, width, hidden;
};

// down(silu_mul(up(x))) of one expert, the plain way.
Matrix DenseExpert(const Layer& l, uint64_t e, const std::vector<Matrix>& in) {
  const auto part = [&](const Matrix& all, std::vector<int64_t> shape) {
    return Must(matrix::reshape(Must(matrix::slice(all, 0, e, e + 1)), shape));
  };
  const int64_t width = static_cast<int64_t>(l.width), hidden = static_cast<int64_t>(l.hidden);
  const Matrix b1 = part(in[3], {2 * hidden}), b2 = part(in[5], {width});
  const Matrix up = Must(matrix::linear(in[0], part(in[2], {2 * hidden, width}), &b1));
  const Matrix h = Must(ml::matrix::silu_mul(up, l.hidden));
  return Must(matrix::linear(h, part(in[4], {width, hidden}), &b2));
}

// in: x, probabilities, W1, b1, W2, b2. Every expert sees every token; those that a token did not
// choose have weight 0.
Matrix DenseLayer(const Layer& l, const std::vector<Matrix>& in, const Matrix& indices) {
  const Matrix mask = Must(matrix::top_k_mask(indices, l.experts));
  const Matrix chosen = Must(matrix::mul(in[1], mask));
  const Matrix gates = Must(matrix::div(chosen, Must(matrix::sum(chosen, 1))));
  Matrix y;
  for (uint64_t e = 0; e < l.experts; ++e) {
    const Matrix gate = Must(matrix::slice(gates, 1, e, e + 1));
    const Matrix part = Must(matrix::mul(DenseExpert(l, e, in), gate));
    y = e == 0 ? part : Must(matrix::add(y, part));
  }
  return y;
}

Matrix SparseLayer(const Layer& l, const std::vector<Matrix>& in, const Matrix& indices) {
  const MoeExpertPlan plan = Must(matrix::moe_expert_plan(indices, l.experts));
  const Matrix gates = Must(ml::matrix::moe_route_weights(in[1], indices));
  const Matrix u = Must(ml::matrix::moe_gather(in[0], plan.packed_token, plan.inverse));
  const Matrix up = Must(ml::matrix::grouped_linear_m(u, in[2], in[3], plan.offsets));
  const Matrix h = Must(ml::matrix::silu_mul(up, l.hidden));
  const Matrix v = Must(ml::matrix::grouped_linear_m(h, in[4], in[5], plan.offsets));
  return Must(ml::matrix::moe_combine(v, gates, plan.inverse, plan.packed_slot));
}

void CheckSparseLayer(const Layer& l, const Tensor& routes) {
  Recording recording;
  const std::vector<Matrix> in = {recording.Input("x", {l.tokens, l.width}),
                                  recording.Input("p", {l.tokens, l.experts}, 0.1, 1),
                                  recording.Input("w1", {l.experts, 2 * l.hidden, l.width}),
                                  recording.Input("b1", {l.experts, 2 * l.hidden}),
                                  recording.Input("w2", {l.experts, l.width, l.hidden}),
                                  recording.Input("b2", {l.experts, l.width})};
  const Matrix indices = recording.Input("indices", routes);
  const Matrix g = recording.Input("g", {l.tokens, l.width});
  for (bool sparse : {false, true}) {
    const Matrix y = sparse ? SparseLayer(l, in, indices) : DenseLayer(l, in, indices);
    const Matrix loss = Must(matrix::sum(Must(matrix::mul(y, g))));
    const ml::autograd::Gradients gradients = Must(ml::autograd::Backward(loss, in));
    const std::string prefix = sparse ? "sparse" : "dense";
    recording.Output(prefix, y);
    for (size_t i = 0; i < in.size(); ++i) {
      recording.Output(absl::StrCat(prefix, i), Must(gradients.Of(in[i])));
    }
  }
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    recording.Expect("sparse", recording.Value("dense"), {2e-5, 2e-5});
    for (size_t i = 0; i < in.size(); ++i) {
      recording.Expect(absl::StrCat("sparse", i), recording.Value(absl::StrCat("dense", i)),
                       {1e-4, 5e-5});
    }
  }
}

TEST_CASE("moe: the sparse layer equals the dense one in value and gradient") {
  if (TestDevice() == nullptr) return;
  const Layer l = {41, 2, 5, 12, 16};
  CheckSparseLayer(l, reference::DistinctExperts(l.tokens, l.routes, l.experts, false));
}

TEST_CASE("moe: and with dropped routes, also with one expert that has all tokens") {
  if (TestDevice() == nullptr) return;
  const Layer l = {41, 2, 5, 12, 16};
  CheckSparseLayer(l, reference::DistinctExperts(l.tokens, l.routes, l.experts, true));
  Tensor routes(DType::I32, {l.tokens, l.routes});
  for (size_t s = 0; s < routes.size(); ++s) routes[s] = s % 2 == 0 ? 3 : -5;
  CheckSparseLayer(l, routes);
}

TEST_CASE("moe: a token without a valid route gets a zero row and no gradient") {
  if (TestDevice() == nullptr) return;
  const Layer l = {9, 2, 3, 4, 4};
  Tensor routes = reference::DistinctExperts(l.tokens, l.routes, l.experts, false);
  for (size_t s : {4, 5, 10, 11}) routes[s] = s % 2 == 0 ? -1 : 3;
  const std::set<uint64_t> lost = {2, 5};
  Recording recording;
  const std::vector<Matrix> in = {recording.Input("x", {l.tokens, l.width}, 1, 2),
                                  recording.Input("p", {l.tokens, l.experts}, 0.1, 1),
                                  recording.Input("w1", {l.experts, 2 * l.hidden, l.width}, 1, 2),
                                  recording.Input("b1", {l.experts, 2 * l.hidden}, 1, 2),
                                  recording.Input("w2", {l.experts, l.width, l.hidden}, 1, 2),
                                  recording.Input("b2", {l.experts, l.width}, 1, 2)};
  const Matrix y = SparseLayer(l, in, recording.Input("indices", routes));
  const ml::autograd::Gradients gradients =
      Must(ml::autograd::Backward(Must(matrix::sum(y)), std::vector<Matrix>{in[0]}));
  recording.Output("y", y);
  recording.Output("dx", Must(gradients.Of(in[0])));
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    for (const char* name : {"y", "dx"}) {
      const Tensor rows = recording.Value(name);
      for (size_t i = 0; i < rows.size(); ++i) {
        const bool zero = rows[i] == 0;
        CHECK_EQ(zero, lost.count(i / l.width) == 1);
      }
    }
  }
}

// Values and gradients of a grouped product with offsets that may be anything; those that decrease
// give unspecified values, so what counts is that the guards around all buffers survive.
TEST_CASE("moe: grouped products with hostile offsets stay inside their buffers") {
  if (TestDevice() == nullptr) return;
  const std::vector<std::vector<double>> hostile = {{40, 30, 20, 10},
                                                    {kNoRoute, 0, kNoRoute, 0},
                                                    {0, kNoRoute, 1, 50},
                                                    {41, 42, 43, 44},
                                                    {2147483648.0, 1073741824.0, 3, 2147483648.0}};
  for (const std::vector<double>& values : hostile) {
    INFO("offsets ", values[0], " ", values[1], " ", values[2], " ", values[3]);
    Recording recording;
    const Matrix x = recording.Input("x", {40, 12});
    const Matrix w = recording.Input("w", {3, 20, 12});
    const Matrix b = recording.Input("b", {3, 20});
    const Matrix offsets = recording.Input("offsets", TensorOf(DType::U32, {4}, values));
    const Matrix y = Must(ml::matrix::grouped_linear_m(x, w, b, offsets));
    const ml::autograd::Gradients gradients =
        Must(ml::autograd::Backward(Must(matrix::sum(y)), std::vector<Matrix>{x, w, b}));
    recording.Output("y", y);
    for (const Matrix& target : {x, w, b}) {
      recording.Output(absl::StrCat("gradient", target.id()), Must(gradients.Of(target)));
    }
    for (const RunOptions& way : Ways()) recording.Run(way);
  }
}

}  // namespace
}  // namespace oa::testing
