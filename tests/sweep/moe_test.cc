// Mixtures of experts across their operators: golden vectors, the plan as a permutation, gather and
// combine as inverses, maps that name no route, and the sparse layer against the dense one.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/reference/moe_routes.h"
#include "tests/support/recording.h"
#include "tests/sweep/sample_graph.h"

namespace oa::testing {
namespace {

using oa::matrix::MoeExpertPlan;
using reference::kNoRoute;
using reference::Tensor;

Tensor U32s(std::vector<double> values) {
  const Shape shape = {values.size()};
  return TensorOf(DType::U32, shape, std::move(values));
}

void OutputPlan(Recording& recording, const MoeExpertPlan& plan) {
  recording.Output("counts", plan.counts);
  recording.Output("offsets", plan.offsets);
  recording.Output("packed_token", plan.packed_token);
  recording.Output("packed_expert", plan.packed_expert);
  recording.Output("packed_slot", plan.packed_slot);
  recording.Output("inverse", plan.inverse);
}

void CheckSamples(const SampleGraph& built) {
  if (built.graph == nullptr) return;
  const exec::TensorMap outputs = Must(RunGraph(*built.graph, built.inputs, {.as_gpu = true}));
  for (const ExpectedOutput& expected : built.expected) {
    INFO(expected.name);
    Tensor wanted = expected.tensor;
    const Tensor got = FromBytes(wanted.dtype, wanted.shape, outputs.at(expected.name));
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(wanted[i])) wanted[i] = got[i];  // not differentiated by the oracle
    }
    CHECK_EQ(Compare(got, wanted, expected.tolerance), "");
  }
}

TEST_CASE("moe: every sample with the kernels that GPUs get, in value and gradient") {
  if (TestDevice() == nullptr) return;
  for (auto family : {reference::MoeReference, reference::GroupedProductReference}) {
    for (const reference::ReferenceOp& op : family()) {
      INFO(op.op);
      CheckSamples(BuildForward(op));
      CheckSamples(BuildAdjoint(op));
    }
  }
}

TEST_CASE("moe: golden vectors on the device") {
  if (TestDevice() == nullptr) return;
  Recording recording;
  const Matrix indices = recording.Input(
      "indices", TensorOf(DType::I32, {5, 2}, {1, 3, 0, 1, 3, 0, 1, -1, 5, 1}));
  OutputPlan(recording, Must(matrix::moe_expert_plan(indices, 4)));
  const Matrix p = recording.Input("p", TensorOf(DType::F32, {1, 4}, {0.1f, 0.2f, 0.3f, 0.4f}));
  const Matrix chosen = recording.Input("chosen", TensorOf(DType::I32, {1, 2}, {3, 1}));
  recording.Output("weights", Must(ml::matrix::moe_route_weights(p, chosen)));
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    recording.Expect("counts", U32s({2, 4, 0, 2}));
    recording.Expect("offsets", U32s({0, 2, 6, 6, 8}));
    recording.Expect("packed_token", U32s({1, 2, 0, 1, 3, 4, 0, 2, kNoRoute, kNoRoute}));
    recording.Expect("packed_expert", U32s({0, 0, 1, 1, 1, 1, 3, 3, kNoRoute, kNoRoute}));
    recording.Expect("packed_slot", U32s({2, 5, 0, 3, 6, 9, 1, 4, kNoRoute, kNoRoute}));
    recording.Expect("inverse", U32s({2, 6, 0, 3, 7, 1, 4, kNoRoute, kNoRoute, 5}));
    recording.Expect("weights", TensorOf(DType::F32, {1, 2}, {0.6666666667, 0.3333333333}),
                     {2e-7, 2e-7});
  }
}

// What the plan of `indices` [T, K] must be, said without a sort: both maps invert each other, each
// expert's rows are where its offsets say, in slot order, and nothing else is in the maps.
void CheckPlan(const Recording& recording, const Tensor& indices, uint64_t routes_per_token,
               uint64_t experts) {
  const Tensor offsets = recording.Value("offsets"), counts = recording.Value("counts");
  const Tensor token = recording.Value("packed_token"), slot = recording.Value("packed_slot");
  const Tensor expert = recording.Value("packed_expert"), inverse = recording.Value("inverse");
  size_t wrong = 0, valid = 0;
  for (size_t s = 0; s < indices.size(); ++s) {
    const bool names = indices[s] >= 0 && indices[s] < static_cast<double>(experts);
    if (!names) {
      wrong += inverse[s] != kNoRoute;
      continue;
    }
    ++valid;
    REQUIRE(inverse[s] < static_cast<double>(indices.size()));
    const size_t e = static_cast<size_t>(indices[s]), p = static_cast<size_t>(inverse[s]);
    wrong += slot[p] != static_cast<double>(s) || expert[p] != indices[s];
    wrong += token[p] != static_cast<double>(s / routes_per_token);
    wrong += !(offsets[e] <= inverse[s] && inverse[s] < offsets[e + 1]);
    wrong += inverse[s] + 1 < offsets[e + 1] && !(slot[p] < slot[p + 1]);
  }
  for (size_t e = 0; e < experts; ++e) wrong += offsets[e + 1] - offsets[e] != counts[e];
  for (size_t p = valid; p < slot.size(); ++p) {
    wrong += slot[p] != kNoRoute || token[p] != kNoRoute || expert[p] != kNoRoute;
  }
  CHECK_EQ(offsets[0], 0);
  CHECK_EQ(offsets[experts], static_cast<double>(valid));
  CHECK_EQ(wrong, 0);
}

TEST_CASE("moe: the plan is a stable permutation of the valid routes") {
  if (TestDevice() == nullptr) return;
  struct Case {
    uint64_t tokens, routes, experts;
    size_t dropped;  // every so many routes are invalid
  };
  for (const Case& c : {Case{1, 1, 1, 0}, Case{37, 3, 5, 4}, Case{300, 2, 256, 0},
                        Case{4099, 2, 7, 5}, Case{64, 4, 9, 1}}) {
    INFO(c.tokens, " tokens, ", c.routes, " routes, ", c.experts, " experts, dropped ", c.dropped);
    Recording recording;
    const Tensor indices =
        TensorOf(DType::I32, {c.tokens, c.routes},
                 reference::DrawExperts(c.tokens * c.routes, c.experts, 7, c.dropped));
    OutputPlan(recording,
               Must(matrix::moe_expert_plan(recording.Input("indices", indices), c.experts)));
    for (const RunOptions& way : Ways()) {
      recording.Run(way);
      CheckPlan(recording, indices, c.routes, c.experts);
    }
  }
}

// `routes` different experts for each token; from the second token on every third one has its first
// route dropped when `drop`.
Tensor DistinctExperts(uint64_t tokens, uint64_t routes, uint64_t experts, bool drop) {
  Tensor indices(DType::I32, {tokens, routes});
  for (uint64_t t = 0; t < tokens; ++t) {
    for (uint64_t k = 0; k < routes; ++k) {
      indices[t * routes + k] = static_cast<double>((t * t + 3 * t + k * (1 + t % 2)) % experts);
    }
    if (drop && t % 3 == 1) indices[t * routes] = t % 2 == 0 ? -1 : static_cast<double>(experts);
  }
  return indices;
}

TEST_CASE("moe: gates that sum to one combine gathered rows to the rows they came from") {
  if (TestDevice() == nullptr) return;
  for (bool drop : {false, true}) {
    Recording recording;
    const uint64_t tokens = 70, routes = 3, experts = 8, columns = 12;
    const Matrix x = recording.Input("x", {tokens, columns});
    const Matrix p = recording.Input("p", {tokens, experts}, 0.1, 1);
    const Matrix g = recording.Input("g", {tokens, columns});
    const Matrix indices =
        recording.Input("indices", DistinctExperts(tokens, routes, experts, drop));
    const MoeExpertPlan plan = Must(matrix::moe_expert_plan(indices, experts));
    const Matrix gates = Must(ml::matrix::moe_route_weights(p, indices));
    const Matrix rows = Must(ml::matrix::moe_gather(x, plan.packed_token, plan.inverse));
    const Matrix y = Must(ml::matrix::moe_combine(rows, gates, plan.inverse, plan.packed_slot));
    const Matrix loss = Must(matrix::sum(Must(matrix::mul(y, g))));
    const ml::autograd::Gradients gradients =
        Must(ml::autograd::Backward(loss, std::vector<Matrix>{x, p}));
    recording.Output("y", y);
    recording.Output("dx", Must(gradients.Of(x)));
    recording.Output("dp", Must(gradients.Of(p)));
    for (const RunOptions& way : Ways()) {
      recording.Run(way);
      recording.Expect("y", recording.Value("x"), {1e-6, 1e-6});
      recording.Expect("dx", recording.Value("g"), {1e-6, 1e-6});
      // However the gates share the weight, y stays x.
      recording.Expect("dp", Tensor(DType::F32, {tokens, experts}), {2e-5, 0});
    }
  }
}

// Maps with rows behind the last one, at the end of U32 and in between, and some that exist.
Tensor HostileMap(uint64_t size, uint64_t rows) {
  std::vector<double> values;
  for (uint64_t i = 0; i < size; ++i) {
    const double choices[] = {static_cast<double>(rows), 1, kNoRoute, 2147483648.0, 1073741824.0,
                              static_cast<double>(rows) - 1, kNoRoute - 1};
    values.push_back(choices[i % 7]);
  }
  return U32s(std::move(values));
}

bool Names(double row, uint64_t rows) { return row < static_cast<double>(rows); }

TEST_CASE("moe: hostile maps give zero rows, in value and gradient") {
  if (TestDevice() == nullptr) return;
  for (uint64_t columns : {uint64_t{5}, uint64_t{8}}) {
    const uint64_t tokens = 7, per_token = 4, routes = tokens * per_token;
    Recording recording;
    const Tensor token_map = HostileMap(routes, tokens), route_map = HostileMap(routes, routes);
    const Matrix x = recording.Input("x", {tokens, columns});
    const Matrix packed = recording.Input("packed", {routes, columns});
    const Matrix gate = recording.Input("gate", {tokens, per_token});
    const Matrix g = recording.Input("g", {routes, columns});
    const Matrix h = recording.Input("h", {tokens, columns});
    const Matrix to_token = recording.Input("to_token", token_map);
    const Matrix to_route = recording.Input("to_route", route_map);
    const Matrix rows = Must(ml::matrix::moe_gather(x, to_token, to_route));
    const Matrix y = Must(ml::matrix::moe_combine(packed, gate, to_route, to_route));
    const Matrix loss = Must(matrix::add(Must(matrix::sum(Must(matrix::mul(rows, g)))),
                                         Must(matrix::sum(Must(matrix::mul(y, h))))));
    const ml::autograd::Gradients gradients =
        Must(ml::autograd::Backward(loss, std::vector<Matrix>{x, packed, gate}));
    recording.Output("rows", rows);
    recording.Output("y", y);
    recording.Output("dx", Must(gradients.Of(x)));
    recording.Output("dpacked", Must(gradients.Of(packed)));
    recording.Output("dgate", Must(gradients.Of(gate)));
    Tensor rows_expected(DType::F32, {routes, columns}), y_expected(DType::F32, {tokens, columns});
    Tensor dx = y_expected, dpacked = rows_expected, dgate(DType::F32, {tokens, per_token});
    for (uint64_t r = 0; r < routes; ++r) {
      for (uint64_t d = 0; d < columns; ++d) {
        const auto at = [&](const char* name, double row) {
          return recording.Value(name)[static_cast<size_t>(row) * columns + d];
        };
        const uint64_t t = r / per_token;
        if (Names(token_map[r], tokens)) rows_expected[r * columns + d] = at("x", token_map[r]);
        if (!Names(route_map[r], routes)) continue;
        const double weight = recording.Value("gate")[r];
        y_expected[t * columns + d] += weight * at("packed", route_map[r]);
        dx[t * columns + d] += at("g", route_map[r]);
        dgate[r] += at("h", static_cast<double>(t)) * at("packed", route_map[r]);
        const uint64_t slot = static_cast<uint64_t>(route_map[r]);
        dpacked[r * columns + d] =
            recording.Value("gate")[slot] * at("h", static_cast<double>(slot / per_token));
      }
    }
    for (const RunOptions& way : Ways()) {
      recording.Run(way);
      recording.Expect("rows", rows_expected);
      for (const auto& [name, expected] : std::map<std::string, Tensor>{
               {"y", y_expected}, {"dx", dx}, {"dpacked", dpacked}, {"dgate", dgate}}) {
        recording.Expect(name, expected, {3e-6, 3e-6});
      }
    }
  }
}

// Values and gradients of a grouped product with offsets that may be anything; those that decrease
// give unspecified values, so what counts is that the guards around all buffers survive.
TEST_CASE("moe: grouped products with hostile offsets stay inside their buffers") {
  if (TestDevice() == nullptr) return;
  const std::vector<std::vector<double>> hostile = {
      {40, 30, 20, 10}, {kNoRoute, 0, kNoRoute, 0}, {0, kNoRoute, 1, 50}, {41, 42, 43, 44},
      {2147483648.0, 1073741824.0, 3, 2147483648.0}};
  for (const std::vector<double>& values : hostile) {
    INFO("offsets ", values[0], " ", values[1], " ", values[2], " ", values[3]);
    Recording recording;
    const Matrix x = recording.Input("x", {40, 12});
    const Matrix w = recording.Input("w", {3, 20, 12});
    const Matrix b = recording.Input("b", {3, 20});
    const Matrix offsets = recording.Input("offsets", U32s(values));
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
  CheckSparseLayer(l, DistinctExperts(l.tokens, l.routes, l.experts, false));
}

TEST_CASE("moe: and with dropped routes, also with one expert that has all tokens") {
  if (TestDevice() == nullptr) return;
  const Layer l = {41, 2, 5, 12, 16};
  CheckSparseLayer(l, DistinctExperts(l.tokens, l.routes, l.experts, true));
  Tensor routes(DType::I32, {l.tokens, l.routes});
  for (size_t s = 0; s < routes.size(); ++s) routes[s] = s % 2 == 0 ? 3 : -5;
  CheckSparseLayer(l, routes);
}

TEST_CASE("moe: a token without a valid route gets a zero row and no gradient") {
  if (TestDevice() == nullptr) return;
  const Layer l = {9, 2, 3, 4, 4};
  Tensor routes = DistinctExperts(l.tokens, l.routes, l.experts, false);
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

TEST_CASE("moe: the bias of a busy expert falls, that of an idle one rises") {
  if (TestDevice() == nullptr) return;
  Recording recording;
  // Two routes for each of six tokens and four experts: a fair share is three.
  const Tensor indices = TensorOf(DType::I32, {6, 2}, {0, 1, 0, 1, 0, 1, 0, 2, 0, 2, 0, -1});
  const Matrix mask = Must(matrix::top_k_mask(recording.Input("indices", indices), 4));
  const Tensor bias = TensorOf(DType::F32, {4}, {0.5, 0.25, 0, -1});
  const State state = recording.graph().State("bias", DType::F32, {4}, ToBytes(bias));
  const Matrix next = Must(matrix::moe_routing_bias_update(mask, state, 2, 0.125f));
  recording.Output("next", next);
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    recording.Expect("next", TensorOf(DType::F32, {4}, {0.375, 0.25, 0.125, -0.875}));
  }
  recording.Run({.replays = 3});
  recording.Expect("next", TensorOf(DType::F32, {4}, {0.125, 0.25, 0.375, -0.625}));
}

}  // namespace
}  // namespace oa::testing
