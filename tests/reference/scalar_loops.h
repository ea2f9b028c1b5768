// Loops that the oracles of elementwise families share.
#ifndef OA_TESTS_REFERENCE_SCALAR_LOOPS_H_
#define OA_TESTS_REFERENCE_SCALAR_LOOPS_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/reference/reference.h"

namespace oa::reference {

// The operator's one f32 attribute, 0 when it has none.
inline double ScalarOf(const ir::Attributes& attributes) {
  return attributes.empty() ? 0.0 : attributes.all()[0].real;
}

// y[i] = kFunction(x[i], scalar).
template <double (*kFunction)(double x, double scalar)>
std::vector<Tensor> UnaryLoop(absl::Span<const Tensor> inputs, const ir::Attributes& attributes) {
  Tensor y(DType::F32, inputs[0].shape);
  const double scalar = ScalarOf(attributes);
  for (size_t i = 0; i < y.size(); ++i) y[i] = kFunction(inputs[0][i], scalar);
  return {y};
}

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Calls that every operator with one F32 operand refuses.
inline std::vector<Rejection> UnaryRejections(const ir::Attributes& attributes) {
  return {{"no operand", {}, attributes},
          {"two operands", {Uniform({3}), Uniform({3})}, attributes},
          {"an absent operand", {Absent()}, attributes},
          {"an I32 operand", {Integers(DType::I32, {3}, 0, 5)}, attributes},
          {"a BF16 operand", {Values(DType::BF16, {1}, {1})}, attributes},
          {"an unknown attribute", {Uniform({3})}, ir::Attributes().F32("unknown", 1)}};
}

}  // namespace oa::reference

#endif  // OA_TESTS_REFERENCE_SCALAR_LOOPS_H_
