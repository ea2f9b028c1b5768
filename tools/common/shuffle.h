// Deterministic shuffling: the same seed gives the same order on every machine and library.
#ifndef OA_TOOLS_COMMON_SHUFFLE_H_
#define OA_TOOLS_COMMON_SHUFFLE_H_

#include <cstdint>
#include <vector>

namespace oa::tools {

// SplitMix64. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound), without bias: numbers above the largest multiple of `bound` are drawn
  // again. `bound` is not zero.
  uint64_t Below(uint64_t bound) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t value = Next();
    while (value >= limit) value = Next();
    return value % bound;
  }

 private:
  uint64_t state_;
};

// The order of rows 0 .. rows-1 in `epoch` (from 0): Fisher-Yates from the last element down, with
// the generator seeded by the (epoch + 1)-th number that SplitMix64(seed) yields.
std::vector<uint64_t> EpochOrder(uint64_t rows, uint64_t seed, uint64_t epoch);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_SHUFFLE_H_
