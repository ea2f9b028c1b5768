// Records single-operator graphs for `oa-run bench`: `record_benchmarks FOLDER [SCALE]`. SCALE 1
// (the default) suits a data-centre GPU, larger values divide the sizes for smaller devices.
// kernels/BENCHMARKS.md says how the figures there were taken with them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "frontend/examples/benchmarks/benchmarks.h"

namespace {

absl::Status RecordAll(const std::string& folder, uint64_t scale) {
  for (auto family : {oa::examples::CoreBenchmarks, oa::examples::AttentionBenchmarks,
                      oa::examples::ExpertBenchmarks, oa::examples::Mamba3Benchmarks,
                      oa::examples::RecurrentBenchmarks}) {
    for (const oa::examples::Benchmark& benchmark : family(scale)) {
      oa::Graph graph(benchmark.name);
      OA_RETURN_IF_ERROR(benchmark.record(graph));
      OA_RETURN_IF_ERROR(graph.Save(folder + "/" + benchmark.name + ".oag"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const long scale = argc == 3 ? std::strtol(argv[2], nullptr, 10) : 1;
  if (argc < 2 || argc > 3 || scale < 1 || scale > 64) {
    std::fprintf(stderr, "usage: record_benchmarks FOLDER [SCALE]   (SCALE from 1 to 64)\n");
    return 2;
  }
  const absl::Status status = RecordAll(argv[1], static_cast<uint64_t>(scale));
  if (!status.ok()) {
    std::fprintf(stderr, "record_benchmarks: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
