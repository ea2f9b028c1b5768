// Routes for the samples of the mixture-of-experts operators: indices and the maps that follow from
// them.
#ifndef OA_TESTS_REFERENCE_MOE_ROUTES_H_
#define OA_TESTS_REFERENCE_MOE_ROUTES_H_

#include <cstdint>
#include <vector>

#include "tests/reference/reference.h"

namespace oa::reference {

inline constexpr double kNoRoute = 4294967295.0;

// The six maps of moe_expert_plan, by a stable sort of the valid slots.
struct RouteMaps {
  std::vector<double> counts, offsets, packed_token, packed_expert, packed_slot, inverse;
};
RouteMaps PlanRoutes(const std::vector<double>& indices, size_t routes_per_token, size_t experts);

// `count` expert indices in [0, experts), the same for the same seed; every `dropped`-th is invalid
// unless that is 0.
std::vector<double> DrawExperts(size_t count, size_t experts, uint64_t seed, size_t dropped = 0);

// [tokens, routes] indices, those of a token different. With `drop` every third token from the
// second on has no valid first route.
Tensor DistinctExperts(uint64_t tokens, uint64_t routes, uint64_t experts, bool drop);

}  // namespace oa::reference

#endif  // OA_TESTS_REFERENCE_MOE_ROUTES_H_
