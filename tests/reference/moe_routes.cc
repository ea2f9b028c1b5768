#include "tests/reference/moe_routes.h"

#include <algorithm>

namespace oa::reference {

RouteMaps PlanRoutes(const std::vector<double>& indices, size_t routes_per_token, size_t experts) {
  std::vector<size_t> order;
  for (size_t s = 0; s < indices.size(); ++s) {
    if (indices[s] >= 0 && indices[s] < static_cast<double>(experts)) order.push_back(s);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return indices[a] < indices[b]; });
  RouteMaps maps;
  maps.counts.assign(experts, 0);
  maps.offsets.assign(experts + 1, 0);
  for (std::vector<double>* map :
       {&maps.packed_token, &maps.packed_expert, &maps.packed_slot, &maps.inverse}) {
    map->assign(indices.size(), kNoRoute);
  }
  for (size_t p = 0; p < order.size(); ++p) {
    const size_t slot = order[p];
    maps.packed_slot[p] = static_cast<double>(slot);
    maps.packed_token[p] = static_cast<double>(slot / routes_per_token);
    maps.packed_expert[p] = indices[slot];
    maps.inverse[slot] = static_cast<double>(p);
    ++maps.counts[static_cast<size_t>(indices[slot])];
  }
  for (size_t e = 0; e < experts; ++e) maps.offsets[e + 1] = maps.offsets[e] + maps.counts[e];
  return maps;
}

std::vector<double> DrawExperts(size_t count, size_t experts, uint64_t seed, size_t dropped) {
  std::vector<double> indices;
  uint64_t state = seed * 2862933555777941757u + 3037000493u;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const bool drop = dropped != 0 && i % dropped == dropped - 1;
    const double bad = i % 2 == 0 ? -1.0 : static_cast<double>(experts);
    indices.push_back(drop ? bad : static_cast<double>((state >> 33) % experts));
  }
  return indices;
}

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

}  // namespace oa::reference
