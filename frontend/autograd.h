// Reverse-mode differentiation of a recorded graph: the adjoint nodes are recorded behind the
// forward ones, in the same graph.
#ifndef OA_FRONTEND_AUTOGRAD_H_
#define OA_FRONTEND_AUTOGRAD_H_

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "frontend/graph.h"

namespace oa::ml::autograd {

// The gradients of one backward pass.
class Gradients {
 public:
  // Gradient of a value that was asked for. NotFound when the root does not depend on it.
  Result<Matrix> Of(const Matrix& value) const;
  Result<Matrix> Of(const Parameter& parameter) const;

  // Parameters that the root depends on with their gradients, in the order of declaration.
  const std::vector<std::pair<Parameter, Matrix>>& parameters() const { return parameters_; }

  // Replaces the i-th parameter's gradient, for example by its clipped version.
  void SetParameterGradient(size_t i, const Matrix& gradient) {
    parameters_[i].second = gradient;
  }

 private:
  friend Result<Gradients> Backward(const Matrix& root, absl::Span<const Matrix> values);
  std::vector<std::pair<Parameter, Matrix>> parameters_;
  std::vector<std::pair<Matrix, Matrix>> values_;
};

// Gradients of `root` (one F32 element) for all parameters that require one.
// FailedPrecondition when a parameter was overwritten after the forward pass used it.
Result<Gradients> Backward(const Matrix& root);

// The same, and for further `values` (inputs or intermediates).
Result<Gradients> Backward(const Matrix& root, absl::Span<const Matrix> values);

}  // namespace oa::ml::autograd

#endif  // OA_FRONTEND_AUTOGRAD_H_
