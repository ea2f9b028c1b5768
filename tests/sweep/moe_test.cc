// Mixtures of experts across their operators: golden vectors, the plan as a permutation, gather and
// combine as inverses, maps that name no route, the direction of the balancing bias.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

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
  const Matrix indices =
      recording.Input("indices", TensorOf(DType::I32, {5, 2}, {1, 3, 0, 1, 3, 0, 1, -1, 5, 1}));
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

TEST_CASE("moe: gates that sum to one combine gathered rows to the rows they came from") {
  if (TestDevice() == nullptr) return;
  for (bool drop : {false, true}) {
    Recording recording;
    const uint64_t tokens = 70, routes = 3, experts = 8, columns = 12;
    const Matrix x = recording.Input("x", {tokens, columns});
    const Matrix p = recording.Input("p", {tokens, experts}, 0.1, 1);
    const Matrix g = recording.Input("g", {tokens, columns});
    const Matrix indices =
        recording.Input("indices", reference::DistinctExperts(tokens, routes, experts, drop));
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
    const double choices[] = {
        static_cast<double>(rows),     1,           kNoRoute, 2147483648.0, 1073741824.0,
        static_cast<double>(rows) - 1, kNoRoute - 1};
    values.push_back(choices[i % 7]);
  }
  return U32s(std::move(values));
}

bool Names(double row, uint64_t rows) { return row < static_cast<double>(rows); }

// Shapes of the operands below: x and h [tokens, columns], packed and g [routes, columns], gate
// [tokens, per_token].
struct Maps {
  uint64_t tokens, per_token, columns;
  uint64_t routes() const { return tokens * per_token; }
  Tensor to_token() const { return HostileMap(routes(), tokens); }
  Tensor to_route() const { return HostileMap(routes(), routes()); }
};

// rows = gather(x), y = combine(packed, gate), and the gradients of sum(rows * g) + sum(y * h).
void RecordMapped(Recording& recording, const Maps& m) {
  const Matrix x = recording.Input("x", {m.tokens, m.columns});
  const Matrix packed = recording.Input("packed", {m.routes(), m.columns});
  const Matrix gate = recording.Input("gate", {m.tokens, m.per_token});
  const Matrix g = recording.Input("g", {m.routes(), m.columns});
  const Matrix h = recording.Input("h", {m.tokens, m.columns});
  const Matrix to_token = recording.Input("to_token", m.to_token());
  const Matrix to_route = recording.Input("to_route", m.to_route());
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
}

// The outputs of RecordMapped, by their equations.
std::map<std::string, Tensor> ExpectedMapped(const Recording& recording, const Maps& m) {
  const uint64_t columns = m.columns;
  const Tensor x = recording.Value("x"), packed = recording.Value("packed");
  const Tensor gate = recording.Value("gate"), g = recording.Value("g"), h = recording.Value("h");
  const Tensor to_token = m.to_token(), to_route = m.to_route();
  Tensor rows(DType::F32, g.shape), y(DType::F32, x.shape), dgate(DType::F32, gate.shape);
  Tensor dx = y, dpacked = rows;
  for (uint64_t i = 0; i < m.routes() * columns; ++i) {
    const uint64_t r = i / columns, d = i % columns, t = r / m.per_token;
    if (Names(to_token[r], m.tokens)) rows[i] = x[static_cast<size_t>(to_token[r]) * columns + d];
    if (!Names(to_route[r], m.routes())) continue;
    // `to_route` serves as inverse (from a slot to a row) and as packed_slot (back).
    const size_t other = static_cast<size_t>(to_route[r]);
    y[t * columns + d] += gate[r] * packed[other * columns + d];
    dx[t * columns + d] += g[other * columns + d];
    dgate[r] += h[t * columns + d] * packed[other * columns + d];
    dpacked[i] = gate[other] * h[other / m.per_token * columns + d];
  }
  return {{"rows", rows}, {"y", y}, {"dx", dx}, {"dpacked", dpacked}, {"dgate", dgate}};
}

TEST_CASE("moe: hostile maps give zero rows, in value and gradient") {
  if (TestDevice() == nullptr) return;
  for (uint64_t columns : {uint64_t{5}, uint64_t{8}}) {
    Recording recording;
    const Maps maps = {7, 4, columns};
    RecordMapped(recording, maps);
    const std::map<std::string, Tensor> all = ExpectedMapped(recording, maps);
    for (const RunOptions& way : Ways()) {
      recording.Run(way);
      recording.Expect("rows", all.at("rows"));
      for (const auto& [name, expected] : all) recording.Expect(name, expected, {3e-6, 3e-6});
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
