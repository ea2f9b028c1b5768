// Graphs of single operators for `oa-run bench`, by family.
#ifndef OA_FRONTEND_EXAMPLES_BENCHMARKS_BENCHMARKS_H_
#define OA_FRONTEND_EXAMPLES_BENCHMARKS_BENCHMARKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frontend/oa.h"

namespace oa::examples {

struct Benchmark {
  std::string name;
  // Records the operator and names its outputs.
  std::function<absl::Status(Graph&)> record;
};

// `scale` divides the sizes for devices smaller than a data-centre GPU.
std::vector<Benchmark> CoreBenchmarks(uint64_t scale);  // products, elementwise, sums, indexing
std::vector<Benchmark> AttentionBenchmarks(uint64_t scale);  // forward and with gradients
std::vector<Benchmark> Mamba3Benchmarks(uint64_t scale);     // scans, forward and with gradients
std::vector<Benchmark> RecurrentBenchmarks(uint64_t scale);  // GRU scans, the same
std::vector<Benchmark> ExpertBenchmarks(uint64_t scale);     // mixtures of experts, quantisation

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_BENCHMARKS_BENCHMARKS_H_
