#include "frontend/random.h"

#include "absl/strings/str_cat.h"
#include "frontend/record.h"

namespace oa::matrix {
namespace {

// Records `op` with `input` (nullptr: none) and the replay counter. When the call fails, a counter
// that was declared for it is gone again.
Result<Matrix> Draw(Graph& graph, absl::string_view op, OptMatrix input,
                    const ir::Attributes& attributes) {
  return internal::Atomically(graph, [&]() -> Result<Matrix> {
    OA_ASSIGN_OR_RETURN(const Matrix replay, graph.ReplayCounter());
    if (input == nullptr) return internal::Record(op, {&replay}, attributes);
    return internal::Record(op, {input, &replay}, attributes);
  });
}

ir::Attributes ShapeOf(const Shape& shape) {
  return ir::Attributes().List("shape", std::vector<int64_t>(shape.begin(), shape.end()));
}

}  // namespace

Result<Matrix> random_uniform(Graph& graph, const Shape& shape, float low, float high,
                              uint64_t seed) {
  return Draw(graph, "random_uniform", nullptr,
              ShapeOf(shape).F32("low", low).F32("high", high).U64("seed", seed));
}

Result<Matrix> random_normal(Graph& graph, const Shape& shape, float mean, float stddev,
                             uint64_t seed) {
  return Draw(graph, "random_normal", nullptr,
              ShapeOf(shape).F32("mean", mean).F32("stddev", stddev).U64("seed", seed));
}

Result<Matrix> dropout(const Matrix& input, float p, uint64_t seed) {
  if (!input.valid()) {
    return absl::InvalidArgumentError("dropout: operand 0 is a Matrix of no graph");
  }
  return Draw(*input.graph(), "dropout", &input, ir::Attributes().F32("p", p).U64("seed", seed));
}

}  // namespace oa::matrix
