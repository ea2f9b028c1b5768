// Initialisers against the published Philox vectors and the golden values of the contract.
#include <doctest/doctest.h>

#include <cmath>

#include "frontend/init.h"

namespace oa::init {
namespace {

TEST_CASE("philox: counter and key all zero") {
  const PhiloxBlock block = Philox({{0, 0, 0, 0}}, 0);
  CHECK_EQ(block.word[0], 0x6627e8d5u);
  CHECK_EQ(block.word[1], 0xe169c58du);
  CHECK_EQ(block.word[2], 0xbc57ac4cu);
  CHECK_EQ(block.word[3], 0x9b00dbd8u);
}

TEST_CASE("uniform and normal, seed 42") {
  const std::vector<float> uniform = Materialise(Uniform(0, 1, 42), {5});
  const double expected[] = {0.6129598618, 0.4685865045, 0.0732316971, 0.3408614993, 0.9877186418};
  for (int i = 0; i < 5; ++i) CHECK(std::abs(uniform[i] - expected[i]) < 1e-7);
  const std::vector<float> normal = Materialise(Normal(0, 1, 42), {5});
  const double golden[] = {2.1276901775, 2.1613730458, -0.4082711966, -1.6597529078, 2.0213190218};
  for (int i = 0; i < 5; ++i) CHECK(std::abs(normal[i] - golden[i]) < 1e-6);
}

TEST_CASE("kaiming and xavier bounds follow the fans") {
  for (float value : Materialise(KaimingUniform(3), {64, 24})) {
    CHECK(std::abs(value) <= std::sqrt(6.0f / 24) + 1e-6f);
  }
  for (float value : Materialise(XavierUniform(3), {10, 20})) {
    CHECK(std::abs(value) <= std::sqrt(6.0f / 30) + 1e-6f);
  }
}

}  // namespace
}  // namespace oa::init
