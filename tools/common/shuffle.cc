#include "tools/common/shuffle.h"

#include <numeric>
#include <utility>

namespace oa::tools {

std::vector<uint64_t> EpochOrder(uint64_t rows, uint64_t seed, uint64_t epoch) {
  SplitMix64 seeds(seed);
  for (uint64_t i = 0; i < epoch; ++i) seeds.Next();
  SplitMix64 generator(seeds.Next());
  std::vector<uint64_t> order(rows);
  std::iota(order.begin(), order.end(), uint64_t{0});
  for (uint64_t i = rows; i > 1; --i) std::swap(order[i - 1], order[generator.Below(i)]);
  return order;
}

}  // namespace oa::tools
