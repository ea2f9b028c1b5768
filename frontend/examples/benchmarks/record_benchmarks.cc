// Records single-operator graphs for `oa-run bench`: `record_benchmarks FOLDER [SCALE]`. SCALE 1
// (the default) suits a data-centre GPU, larger values divide the sizes for smaller devices.
// kernels/BENCHMARKS.md says how the figures there were taken with them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "frontend/oa.h"

namespace {

using oa::Matrix;
using oa::Result;

struct Benchmark {
  std::string name;
  std::function<Result<Matrix>(oa::Graph&)> record;
};

std::vector<Benchmark> Benchmarks(uint64_t scale) {
  const uint64_t side = 4096 / scale;
  const uint64_t rows = 65536 / scale;
  const uint64_t columns = 4096 / scale;
  return {
      {"matmul",
       [=](oa::Graph& g) {
         return oa::matrix::matmul(g.Input("a", oa::F32, {side, side}),
                                   g.Input("b", oa::F32, {side, side}));
       }},
      {"linear",
       [=](oa::Graph& g) {
         const Matrix bias = g.Input("bias", oa::F32, {side});
         return oa::matrix::linear(g.Input("x", oa::F32, {2 * side, side / 4}),
                                   g.Input("weight", oa::F32, {side, side / 4}), &bias);
       }},
      {"gelu",
       [=](oa::Graph& g) { return oa::ml::matrix::gelu(g.Input("x", oa::F32, {rows, columns})); }},
      {"swiglu",
       [=](oa::Graph& g) {
         return oa::ml::matrix::swiglu(g.Input("gate", oa::F32, {rows, columns}),
                                       g.Input("up", oa::F32, {rows, columns}));
       }},
      {"softmax",
       [=](oa::Graph& g) { return oa::matrix::softmax(g.Input("x", oa::F32, {rows, columns}), 1); }},
      {"sum",
       [=](oa::Graph& g) { return oa::matrix::sum(g.Input("x", oa::F32, {rows, columns})); }},
      {"column_sum",
       [=](oa::Graph& g) { return oa::matrix::sum(g.Input("x", oa::F32, {rows, columns}), 0); }},
      {"transpose",
       [=](oa::Graph& g) {
         return oa::matrix::transpose(g.Input("x", oa::F32, {rows, columns}), 0, 1);
       }},
      {"embedding",
       [=](oa::Graph& g) {
         return oa::matrix::gather(g.Input("table", oa::F32, {rows / 2, columns / 4}),
                                   g.Input("tokens", oa::I32, {rows}));
       }},
  };
}

absl::Status RecordAll(const std::string& folder, uint64_t scale) {
  for (const Benchmark& benchmark : Benchmarks(scale)) {
    oa::Graph graph(benchmark.name);
    OA_ASSIGN_OR_RETURN(Matrix result, benchmark.record(graph));
    graph.Output("y", result);
    OA_RETURN_IF_ERROR(graph.Save(folder + "/" + benchmark.name + ".oag"));
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
