#include "frontend/examples/benchmarks/benchmarks.h"

namespace oa::examples {
namespace {

// A benchmark with one output.
Benchmark Single(std::string name, std::function<Result<Matrix>(Graph&)> record) {
  return {std::move(name), [record = std::move(record)](Graph& graph) -> absl::Status {
            OA_ASSIGN_OR_RETURN(const Matrix result, record(graph));
            graph.Output("y", result);
            return absl::OkStatus();
          }};
}

}  // namespace

std::vector<Benchmark> CoreBenchmarks(uint64_t scale) {
  const uint64_t side = 4096 / scale;
  const uint64_t rows = 65536 / scale;
  const uint64_t columns = 4096 / scale;
  return {
      Single(
          "matmul",
          [=](Graph& g) {
            return matrix::matmul(g.Input("a", F32, {side, side}), g.Input("b", F32, {side, side}));
          }),
      Single("linear",
             [=](Graph& g) {
               const Matrix bias = g.Input("bias", F32, {side});
               return matrix::linear(g.Input("x", F32, {2 * side, side / 4}),
                                     g.Input("weight", F32, {side, side / 4}), &bias);
             }),
      Single("gelu",
             [=](Graph& g) {
               return ml::matrix::gelu(g.Input("x", F32, {rows, columns}));
             }),
      Single("swiglu",
             [=](Graph& g) {
               return ml::matrix::swiglu(g.Input("gate", F32, {rows, columns}),
                                         g.Input("up", F32, {rows, columns}));
             }),
      Single("softmax",
             [=](Graph& g) {
               return matrix::softmax(g.Input("x", F32, {rows, columns}), 1);
             }),
      Single("sum",
             [=](Graph& g) {
               return matrix::sum(g.Input("x", F32, {rows, columns}));
             }),
      Single("column_sum",
             [=](Graph& g) {
               return matrix::sum(g.Input("x", F32, {rows, columns}), 0);
             }),
      Single("transpose",
             [=](Graph& g) {
               return matrix::transpose(g.Input("x", F32, {rows, columns}), 0, 1);
             }),
      Single("embedding",
             [=](Graph& g) {
               return matrix::gather(g.Input("table", F32, {rows / 2, columns / 4}),
                                     g.Input("tokens", I32, {rows}));
             }),
  };
}

}  // namespace oa::examples
