#include <cmath>
#include <utility>

#include "tests/reference/moe_routes.h"
#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

Tensor Of(DType dtype, Shape shape, std::vector<double> data) {
  Tensor tensor(dtype, std::move(shape));
  tensor.data = std::move(data);
  return tensor;
}

// ---- moe_expert_plan ----

std::vector<Tensor> Plan(absl::Span<const Tensor> in, const Attributes& attributes) {
  const size_t experts = static_cast<size_t>(attributes.i64("num_experts"));
  const RouteMaps maps = PlanRoutes(in[0].data, in[0].shape[1], experts);
  const Shape routes = {in[0].size()};
  return {Of(DType::U32, {experts}, maps.counts),    Of(DType::U32, {experts + 1}, maps.offsets),
          Of(DType::U32, routes, maps.packed_token), Of(DType::U32, routes, maps.packed_expert),
          Of(DType::U32, routes, maps.packed_slot),  Of(DType::U32, routes, maps.inverse)};
}

Attributes Experts(int64_t count) { return Attributes().I64("num_experts", count); }

ReferenceOp PlanOp() {
  ReferenceOp row = {"moe_expert_plan", Plan};
  const auto add = [&row](uint64_t tokens, uint64_t routes, int64_t experts, int64_t low,
                          int64_t high) {
    row.samples.push_back(
        {{Integers(DType::I32, {tokens, routes}, low, high)}, Experts(experts), kExact});
  };
  row.samples.push_back(
      {{Values(DType::I32, {5, 2}, {1, 3, 0, 1, 3, 0, 1, -1, 5, 1})}, Experts(4), kExact});
  row.samples.push_back(
      {{Values(DType::I32, {2, 2}, {-2147483648, 2147483647, 256, 255})}, Experts(256), kExact});
  add(1, 1, 1, 0, 0);
  add(3, 1, 2, 5, 9);  // no valid route at all
  add(7, 3, 5, 0, 4);
  add(131, 2, 8, -1, 8);  // more routes than invocations of a workgroup
  add(1024, 2, 256, 0, 255);
  add(1031, 3, 256, -3, 260);  // several blocks on a GPU
  add(6000, 4, 8, 0, 7);       // and on a CPU device
  add(20011, 2, 256, -2, 300);
  add(40000, 1, 3, 2, 2);  // one expert has them all
  const InputSpec indices = Integers(DType::I32, {4, 2}, 0, 3);
  row.rejections = {
      {"no expert", {indices}, Experts(0)},
      {"a negative number of experts", {indices}, Experts(-1)},
      {"too many experts", {indices}, Experts(257)},
      {"indices of rank 1", {Integers(DType::I32, {8}, 0, 3)}, Experts(4)},
      {"indices of rank 3", {Integers(DType::I32, {2, 2, 2}, 0, 3)}, Experts(4)},
      {"U32 indices", {Integers(DType::U32, {4, 2}, 0, 3)}, Experts(4)},
      {"F32 indices", {Uniform({4, 2})}, Experts(4)},
      {"no token", {Integers(DType::I32, {0, 2}, 0, 3)}, Experts(4)},
      {"no route", {Integers(DType::I32, {4, 0}, 0, 3)}, Experts(4)},
      {"no attribute", {indices}},
  };
  return row;
}

// ---- moe_routing_bias_update ----

std::vector<Tensor> RoutingBias(absl::Span<const Tensor> in, const Attributes& attributes) {
  const size_t tokens = in[0].shape[0], experts = in[0].shape[1];
  const double target = static_cast<double>(tokens) *
                        static_cast<double>(attributes.i64("experts_per_token")) /
                        static_cast<double>(experts);
  Tensor bias = in[1];
  for (size_t e = 0; e < experts; ++e) {
    double load = 0;
    for (size_t t = 0; t < tokens; ++t) load += in[0][t * experts + e];
    const double direction = load > target ? 1 : load < target ? -1 : 0;
    bias[e] -= attributes.f32("gamma") * direction;
  }
  return {bias};
}

Attributes Balance(int64_t routes, float gamma) {
  return Attributes().I64("experts_per_token", routes).F32("gamma", gamma);
}

ReferenceOp RoutingBiasOp() {
  ReferenceOp row = {"moe_routing_bias_update", RoutingBias};
  // The middle expert has exactly its share.
  row.samples = {
      {{Values(DType::F32, {3, 3}, {1, 0, 0, 1, 1, 0, 1, 0, 0}), Uniform({3})}, Balance(1, 0.25f)},
      {{Integers(DType::F32, {1, 1}, 1, 1), Uniform({1})}, Balance(1, 0.5f)},
      {{Integers(DType::F32, {37, 8}, 0, 1), Uniform({2, 4})}, Balance(4, 1e-3f)},
      {{Integers(DType::F32, {300, 261}, 0, 1), Uniform({261})}, Balance(130, -2)},
      {{Integers(DType::F32, {5000, 4}, 0, 1), Uniform({1, 4})}, Balance(2, 0.125f)},
  };
  const InputSpec mask = Integers(DType::F32, {6, 4}, 0, 1);
  row.rejections = {
      {"a mask of rank 1", {Integers(DType::F32, {4}, 0, 1), Uniform({4})}, Balance(1, 1)},
      {"an integer mask", {Integers(DType::I32, {6, 4}, 0, 1), Uniform({4})}, Balance(1, 1)},
      {"too few biases", {mask, Uniform({3})}, Balance(1, 1)},
      {"an integer bias", {mask, Integers(DType::I32, {4}, 0, 1)}, Balance(1, 1)},
      {"no token", {Uniform({0, 4}), Uniform({4})}, Balance(1, 1)},
      {"negative routes", {mask, Uniform({4})}, Balance(-1, 1)},
      {"too many routes", {mask, Uniform({4})}, Balance(int64_t{1} << 32, 1)},
      {"no attributes", {mask, Uniform({4})}},
  };
  return row;
}

// ---- moe_route_weights ----

std::vector<Tensor> RouteWeights(absl::Span<const Tensor> in, const Attributes&) {
  const size_t experts = in[0].shape[1], routes = in[1].shape[1];
  Tensor y(DType::F32, in[1].shape);
  for (size_t t = 0; t < in[1].shape[0]; ++t) {
    double sum = 0;
    for (size_t s = t * routes; s < (t + 1) * routes; ++s) {
      if (in[1][s] < 0 || in[1][s] >= static_cast<double>(experts)) continue;
      y[s] = in[0][t * experts + static_cast<size_t>(in[1][s])];
      sum += y[s];
    }
    for (size_t s = t * routes; s < (t + 1) * routes; ++s) y[s] = sum > 0 ? y[s] / sum : 0;
  }
  return {y};
}

ReferenceOp RouteWeightsOp() {
  ReferenceOp row = {"moe_route_weights", RouteWeights};
  const auto add = [&row](uint64_t tokens, uint64_t experts, uint64_t routes) {
    // Some indices are invalid, and some repeat an expert.
    row.samples.push_back(
        {{Uniform({tokens, experts}, 0.05, 1),
          Integers(DType::I32, {tokens, routes}, -1, static_cast<int64_t>(experts))}});
  };
  add(1, 1, 1);
  add(5, 4, 2);
  add(37, 7, 7);
  add(300, 8, 2);
  add(3, 300, 6);
  // Sums that are not positive give zeros: no probability, no valid index, a negative sum, a NaN.
  row.samples.push_back({{Values(DType::F32, {4, 2}, {0, 0, 0.5, 0.5, -1, 0.5, NAN, 1}),
                          Values(DType::I32, {4, 2}, {0, 1, -1, 2, 0, 1, 0, 1})}});
  row.samples.back().differentiate = false;
  row.samples.push_back({{Uniform({0, 4}), Integers(DType::I32, {0, 2}, 0, 3)}});
  row.samples.back().differentiate = false;
  const InputSpec p = Uniform({5, 4}), indices = Integers(DType::I32, {5, 2}, 0, 3);
  row.rejections = {
      {"probabilities of rank 1", {Uniform({4}), indices}},
      {"indices of rank 1", {p, Integers(DType::I32, {5}, 0, 3)}},
      {"no expert", {Uniform({5, 0}), indices}},
      {"no route", {p, Integers(DType::I32, {5, 0}, 0, 3)}},
      {"more routes than experts", {p, Integers(DType::I32, {5, 5}, 0, 3)}},
      {"other tokens", {p, Integers(DType::I32, {4, 2}, 0, 3)}},
      {"U32 indices", {p, Integers(DType::U32, {5, 2}, 0, 3)}},
      {"integer probabilities", {Integers(DType::I32, {5, 4}, 0, 1), indices}},
  };
  return row;
}

// ---- moe_gather, moe_gather_backward ----

bool Names(double row, uint64_t rows) { return row < static_cast<double>(rows); }

std::vector<Tensor> Gather(absl::Span<const Tensor> in, const Attributes&) {
  const size_t columns = in[0].shape[1];
  Tensor y(DType::F32, {in[1].size(), columns});
  for (size_t p = 0; p < in[1].size(); ++p) {
    if (!Names(in[1][p], in[0].shape[0])) continue;
    for (size_t d = 0; d < columns; ++d) {
      y[p * columns + d] = in[0][static_cast<size_t>(in[1][p]) * columns + d];
    }
  }
  return {y};
}

std::vector<Tensor> GatherBackward(absl::Span<const Tensor> in, const Attributes& attributes) {
  const size_t routes = in[0].shape[0], columns = in[0].shape[1];
  const size_t tokens = static_cast<size_t>(attributes.i64("output_rows"));
  Tensor dx(DType::F32, {tokens, columns});
  for (size_t s = 0; s < routes; ++s) {
    if (!Names(in[1][s], routes)) continue;
    for (size_t d = 0; d < columns; ++d) {
      dx[s / (routes / tokens) * columns + d] += in[0][static_cast<size_t>(in[1][s]) * columns + d];
    }
  }
  return {dx};
}

InputSpec Map(const std::vector<double>& values) {
  return Values(DType::U32, {values.size()}, values);
}

// Maps that name no row: the first one behind the last, and others far away.
InputSpec HostileMap(uint64_t size, uint64_t rows) {
  std::vector<double> values;
  for (uint64_t i = 0; i < size; ++i) {
    const double choices[] = {static_cast<double>(rows), 0, kNoRoute, 2147483648.0,
                              static_cast<double>(rows) - 1};
    values.push_back(choices[i % 5]);
  }
  return Map(values);
}

ReferenceOp GatherOp() {
  ReferenceOp row = {"moe_gather", Gather};
  const auto add = [&row](uint64_t tokens, uint64_t routes, uint64_t columns, size_t dropped) {
    const RouteMaps maps =
        PlanRoutes(DrawExperts(tokens * routes, 5, tokens + columns, dropped), routes, 5);
    row.samples.push_back(
        {{Uniform({tokens, columns}), Map(maps.packed_token), Map(maps.inverse)}, {}, kExact});
  };
  add(1, 1, 1, 0);
  add(7, 3, 5, 0);
  add(9, 2, 8, 3);
  add(70, 4, 12, 7);
  add(33, 1, 257, 2);
  row.samples.push_back({{Uniform({4, 6}), HostileMap(8, 4), HostileMap(8, 8)}, {}, kExact});
  row.samples.back().differentiate = false;
  const InputSpec x = Uniform({4, 3}), map = Integers(DType::U32, {8}, 0, 3);
  row.rejections = {
      {"x of rank 1", {Uniform({4}), map, map}},
      {"x of rank 3", {Uniform({4, 3, 1}), map, map}},
      {"a map of rank 2", {x, Integers(DType::U32, {4, 2}, 0, 3), map}},
      {"maps of different shapes", {x, map, Integers(DType::U32, {4}, 0, 3)}},
      {"an I32 map", {x, Integers(DType::I32, {8}, 0, 3), map}},
      {"an I32 inverse", {x, map, Integers(DType::I32, {8}, 0, 3)}},
      {"routes that the tokens do not divide", {Uniform({3, 3}), map, map}},
      {"fewer routes than tokens", {Uniform({16, 3}), map, map}},
      {"no token", {Uniform({0, 3}), map, map}},
      {"no column", {Uniform({4, 0}), map, map}},
      {"no route", {x, Integers(DType::U32, {0}, 0, 3), Integers(DType::U32, {0}, 0, 3)}},
      {"integer x", {Integers(DType::I32, {4, 3}, 0, 1), map, map}},
  };
  return row;
}

Attributes Rows(int64_t rows) { return Attributes().I64("output_rows", rows); }

ReferenceOp GatherBackwardOp() {
  ReferenceOp row = {"moe_gather_backward", GatherBackward};
  const auto add = [&row](InputSpec inverse, uint64_t columns, int64_t tokens) {
    const uint64_t routes = inverse.shape[0];
    row.samples.push_back({{Uniform({routes, columns}), std::move(inverse)}, Rows(tokens)});
  };
  add(HostileMap(12, 12), 5, 4);
  add(HostileMap(10, 10), 8, 10);
  add(Integers(DType::U32, {300}, 0, 320), 4, 3);
  const InputSpec source = Uniform({8, 3}), inverse = Integers(DType::U32, {8}, 0, 7);
  row.rejections = {
      {"a source of rank 1", {Uniform({8}), inverse}, Rows(4)},
      {"an inverse of another extent", {source, Integers(DType::U32, {4}, 0, 7)}, Rows(4)},
      {"an inverse of rank 2", {source, Integers(DType::U32, {8, 1}, 0, 7)}, Rows(4)},
      {"an I32 inverse", {source, Integers(DType::I32, {8}, 0, 7)}, Rows(4)},
      {"no token", {source, inverse}, Rows(0)},
      {"negative tokens", {source, inverse}, Rows(-4)},
      {"routes that the tokens do not divide", {source, inverse}, Rows(3)},
      {"no column", {Uniform({8, 0}), inverse}, Rows(4)},
      {"no route", {Uniform({0, 3}), Integers(DType::U32, {0}, 0, 7)}, Rows(4)},
      {"an integer source", {Integers(DType::I32, {8, 3}, 0, 7), inverse}, Rows(4)},
  };
  return row;
}

// ---- moe_combine ----

std::vector<Tensor> Combine(absl::Span<const Tensor> in, const Attributes&) {
  const size_t columns = in[0].shape[1], routes = in[1].shape[1];
  Tensor y(DType::F32, {in[1].shape[0], columns});
  for (size_t s = 0; s < in[1].size(); ++s) {
    if (!Names(in[2][s], in[0].shape[0])) continue;
    for (size_t d = 0; d < columns; ++d) {
      y[s / routes * columns + d] += in[1][s] * in[0][static_cast<size_t>(in[2][s]) * columns + d];
    }
  }
  return {y};
}

ReferenceOp CombineOp() {
  ReferenceOp row = {"moe_combine", Combine};
  const auto add = [&row](uint64_t tokens, uint64_t routes, uint64_t columns, size_t dropped) {
    const RouteMaps maps =
        PlanRoutes(DrawExperts(tokens * routes, 6, tokens + columns, dropped), routes, 6);
    Sample sample = {{Uniform({tokens * routes, columns}), Uniform({tokens, routes}),
                      Map(maps.inverse), Map(maps.packed_slot)}};
    sample.tolerance = ReductionTolerance(static_cast<double>(routes), 4);
    sample.gradient = {5e-5, 2e-4};
    row.samples.push_back(sample);
  };
  add(1, 1, 1, 0);
  add(7, 3, 5, 0);
  add(9, 2, 8, 3);
  add(70, 4, 12, 7);
  add(3, 2, 1100, 4);
  add(33, 1, 257, 2);
  add(5, 6, 1, 0);
  row.samples.push_back({{Uniform({8, 6}), Uniform({4, 2}), HostileMap(8, 8), HostileMap(8, 8)}});
  row.samples.back().differentiate = false;
  const InputSpec packed = Uniform({8, 3}), gate = Uniform({4, 2});
  const InputSpec map = Integers(DType::U32, {8}, 0, 7);
  row.rejections = {
      {"packed of rank 1", {Uniform({8}), gate, map, map}},
      {"a gate of rank 1", {packed, Uniform({8}), map, map}},
      {"other routes", {packed, Uniform({3, 2}), map, map}},
      {"a short inverse", {packed, gate, Integers(DType::U32, {4}, 0, 7), map}},
      {"a short packed_slot", {packed, gate, map, Integers(DType::U32, {4}, 0, 7)}},
      {"an inverse of rank 2", {packed, gate, Integers(DType::U32, {4, 2}, 0, 7), map}},
      {"an I32 inverse", {packed, gate, Integers(DType::I32, {8}, 0, 7), map}},
      {"an I32 packed_slot", {packed, gate, map, Integers(DType::I32, {8}, 0, 7)}},
      {"no column", {Uniform({8, 0}), gate, map, map}},
      {"no route", {Uniform({0, 3}), Uniform({4, 0}), map, map}},
      {"an integer gate", {packed, Integers(DType::I32, {4, 2}, 0, 7), map, map}},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> MoeReference() {
  return {PlanOp(), RoutingBiasOp(), RouteWeightsOp(), GatherOp(), GatherBackwardOp(), CombineOp()};
}

}  // namespace oa::reference
