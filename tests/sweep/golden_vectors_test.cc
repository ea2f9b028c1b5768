// The oracles against the golden vectors of the operator specification, so that a mistake in an
// oracle cannot hide behind a kernel that shares it. Needs no device.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <map>

#include "tests/reference/reference.h"

namespace oa::testing {
namespace {

using ir::Attributes;
using reference::Tensor;

// Rounding of the printed digits, and of F32 attributes.
constexpr double kPrinted = 2e-9;

Tensor Vector(std::vector<double> values) {
  Tensor tensor(DType::F32, {values.size()});
  tensor.data = std::move(values);
  return tensor;
}

void CheckGolden(const std::string& op, const std::vector<Tensor>& inputs,
                 const Attributes& attributes, const std::vector<std::vector<double>>& expected,
                 double tolerance = kPrinted) {
  INFO(op);
  for (const reference::ReferenceOp& row : reference::AllReferences()) {
    if (row.op != op) continue;
    const std::vector<Tensor> results = row.forward(inputs, attributes);
    for (size_t r = 0; r < expected.size(); ++r) {
      REQUIRE_EQ(results[r].size(), expected[r].size());
      for (size_t i = 0; i < expected[r].size(); ++i) {
        INFO("result ", r, ", element ", i);
        CHECK(std::abs(results[r][i] - expected[r][i]) <= tolerance);
      }
    }
    return;
  }
  FAIL("no oracle");
}

TEST_CASE("golden vectors: activations") {
  const std::map<std::string, std::vector<double>> golden = {
      {"sigmoid",
       {0.0474258732, 0.2689414214, 0.3775406688, 0.5, 0.6224593312, 0.7310585786, 0.9525741268}},
      {"tanh",
       {-0.9950547537, -0.761594156, -0.4621171573, 0, 0.4621171573, 0.761594156, 0.9950547537}},
      {"gelu",
       {-0.0036373921, -0.1588080094, -0.1542859902, 0, 0.3457140098, 0.8411919906, 2.9963626079}},
      {"silu",
       {-0.1422776195, -0.2689414214, -0.1887703344, 0, 0.3112296656, 0.7310585786, 2.8577223805}},
      {"softplus",
       {0.0485873516, 0.3132616875, 0.4740769842, 0.6931471806, 0.9740769842, 1.3132616875,
        3.0485873516}},
      {"mish",
       {-0.1456474613, -0.3034014614, -0.2207437747, 0, 0.3752452113, 0.8650983883, 2.986535005}},
  };
  const std::vector<Tensor> x = {Vector({-3, -1, -0.5, 0, 0.5, 1, 3})};
  for (const auto& [op, y] : golden) CheckGolden(op, x, {}, {y}, 2e-8);  // gelu: F32 sqrt(2/pi)
  CheckGolden("elu", x, Attributes().F32("alpha", 1),
              {{-0.9502129316, -0.6321205588, -0.3934693403, 0, 0.5, 1, 3}});
}

// The slopes of the oracle, by central differences.
TEST_CASE("golden vectors: slopes of activations") {
  constexpr double kStep = 1e-5;
  const std::vector<double> x = {-3, -1, -0.5, 0, 0.5, 1, 3};
  const std::map<std::string, std::vector<double>> golden = {
      {"gelu",
       {-0.0115841666, -0.0829640838, 0.1326300965, 0.5, 0.8673699035, 1.0829640838, 1.0115841666}},
      {"mish",
       {-0.0933931145, 0.0592167559, 0.2895106779, 0.6, 0.8864243754, 1.0490362201, 1.0211069109}},
  };
  size_t found = 0;
  for (const reference::ReferenceOp& row : reference::AllReferences()) {
    const auto slopes = golden.find(row.op);
    if (slopes == golden.end()) continue;
    ++found;
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(row.op, " at ", x[i]);
      const Tensor right = row.forward({Vector({x[i] + kStep})}, {})[0];
      const Tensor left = row.forward({Vector({x[i] - kStep})}, {})[0];
      CHECK(std::abs((right[0] - left[0]) / (2 * kStep) - slopes->second[i]) <= 5e-8);
    }
  }
  CHECK_EQ(found, golden.size());
}

TEST_CASE("golden vectors: optimiser steps") {
  const Tensor w = Vector({1, -2}), g = Vector({0.5, 0.25}), zero = Vector({0, 0});
  CheckGolden("sgd_step", {w, g, zero, Vector({0.1, 0.9, 0.01})},
              Attributes()
                  .F32("lr", 0.1f)
                  .F32("momentum", 0.9f)
                  .F32("weight_decay", 0.01f)
                  .Bool("nesterov", false),
              {{0.949, -2.023}, {0.51, 0.23}});
  Tensor state(DType::U32, {6});
  state[0] = 1;
  const float fields[] = {0.1f, 0.9f, 0.999f, 1e-8f, 0.01f};
  for (size_t i = 0; i < 5; ++i) state[i + 1] = std::bit_cast<uint32_t>(fields[i]);
  CheckGolden("adamw_step", {w, g, zero, zero, state}, {}, {{0.899000002, -2.097999996}}, 1e-8);
}

TEST_CASE("golden vectors: recurrent cells") {
  Tensor gates(DType::F32, {1, 6}), hidden(DType::F32, {1, 2}), weight(DType::F32, {6, 2});
  gates.data = {0.1, -0.2, 0.3, 0.4, -0.5, 0.6};
  hidden.data = {0.5, -0.25};
  for (size_t j = 0; j < weight.size(); ++j) weight[j] = (static_cast<double>(j) - 5) / 10;
  const Tensor bias = Vector({0.1, 0.2, -0.1, -0.2, 0.3, -0.3});
  CheckGolden("gru_cell", {gates, hidden, weight, bias}, {}, {{0.1252845163, 0.0723355321}});
  CheckGolden("gru_cell", {gates, hidden, weight, Tensor()}, {}, {{0.0872493906, 0.0777265936}});
  Tensor first_gates(DType::F32, {1, 2}), first_weight(DType::F32, {2, 2});
  first_gates.data = {0.1, -0.2};
  first_weight.data = {-0.5, -0.4, -0.3, -0.2};
  CheckGolden("rnn_cell", {first_gates, hidden, first_weight, Vector({0.1, 0.2})}, {},
              {{0.049958375, -0.0996679946}});
}

Tensor Of(Shape shape, std::vector<double> values) {
  Tensor tensor(DType::F32, std::move(shape));
  tensor.data = std::move(values);
  return tensor;
}

TEST_CASE("golden vectors: attention and rotary positions") {
  CheckGolden("rope", {Of({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})},
              Attributes()
                  .I64("num_heads", 2)
                  .I64("head_dim", 4)
                  .F32("theta_base", 10000)
                  .I64("position_offset", 3),
              {{-1.4133525208, 1.8791180667, -2.8288574817, 4.0581911354, -5.9378025394,
                5.7573362009, -6.2243474359, 8.1763732712}});
  const Tensor q = Of({1, 3, 2}, {1, 0, 0, 1, 1, 1}), v = Of({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  CheckGolden("scaled_dot_product_attention", {q, q, v, Tensor()},
              Attributes().F32("scale", 0.5f).Bool("causal", true).Token("provider", "flash"),
              {{1, 2, 2.2449186624, 3.2449186624, 3.3555882856, 4.3555882856},
               {0.5, 0.9740769842, 1.7943767694}});
}

// Means of bins over squares of their index show which bins there were.
TEST_CASE("golden vectors: pooling and resampling") {
  const auto bins = [](int64_t height, int64_t width) {
    return Attributes().I64("output_height", height).I64("output_width", width);
  };
  CheckGolden("adaptive_avg_pool_2d", {Of({1, 1, 1, 7}, {0, 1, 4, 9, 16, 25, 36})}, bins(1, 3),
              {{5.0 / 3, 29.0 / 3, 77.0 / 3}});
  CheckGolden("adaptive_avg_pool_2d", {Of({1, 1, 1, 5}, {0, 1, 4, 9, 16})}, bins(1, 2),
              {{5.0 / 3, 29.0 / 3}});
  CheckGolden("adaptive_avg_pool_2d", {Of({1, 1, 1, 2}, {0, 4})}, bins(1, 3), {{0, 2, 4}});
  CheckGolden("upsample_2d", {Of({1, 1, 1, 2}, {0, 4})},
              Attributes().I64("scale_factor", 2).Token("mode", "bilinear"),
              {{0, 1, 3, 4, 0, 1, 3, 4}});
}

TEST_CASE("golden vectors: random numbers") {
  Tensor replay(DType::U32, {1});
  const auto draw = [](const char* first, const char* second, int64_t count, uint64_t seed) {
    return Attributes().List("shape", {count}).F32(first, 0).F32(second, 1).U64("seed", seed);
  };
  // Philox with counter and key zero.
  std::vector<double> units;
  for (uint32_t word : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) {
    units.push_back((word >> 8) / 16777216.0);
  }
  CheckGolden("random_uniform", {replay}, draw("low", "high", 4, 0), {units}, 0);
  CheckGolden("random_uniform", {replay}, draw("low", "high", 5, 42),
              {{0.6129598618, 0.4685865045, 0.0732316971, 0.3408614993, 0.9877186418}});
  CheckGolden("random_normal", {replay}, draw("mean", "stddev", 5, 42),
              {{2.1276901775, 2.1613730458, -0.4082711966, -1.6597529078, 2.0213190218}});
}

}  // namespace
}  // namespace oa::testing
