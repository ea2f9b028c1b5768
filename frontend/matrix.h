// Core operators: arithmetic, products, reductions, shape and indexing. Operands are F32 unless a
// line says otherwise. A failed call returns InvalidArgument naming operator and rule and records
// nothing. Equations, adjoints and all error rules are in the operator reference (`oa-run ops
// NAME`).
#ifndef OA_FRONTEND_MATRIX_H_
#define OA_FRONTEND_MATRIX_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "frontend/graph.h"

namespace oa::matrix {

// Elementwise with NumPy-style broadcasting (ranks up to 8).
Result<Matrix> add(const Matrix& a, const Matrix& b);
Result<Matrix> sub(const Matrix& a, const Matrix& b);
Result<Matrix> mul(const Matrix& a, const Matrix& b);
Result<Matrix> div(const Matrix& a, const Matrix& b);

// Elementwise with a constant.
Result<Matrix> scale(const Matrix& x, float scalar);
Result<Matrix> add_scalar(const Matrix& x, float scalar);
Result<Matrix> sub_scalar(const Matrix& x, float scalar);
Result<Matrix> div_scalar(const Matrix& x, float scalar);
Result<Matrix> pow(const Matrix& x, float scalar);
Result<Matrix> clamp_min(const Matrix& x, float scalar);
Result<Matrix> clamp_max(const Matrix& x, float scalar);

// Elementwise.
Result<Matrix> neg(const Matrix& x);
Result<Matrix> abs(const Matrix& x);
Result<Matrix> exp(const Matrix& x);
Result<Matrix> log(const Matrix& x);
Result<Matrix> sqrt(const Matrix& x);
Result<Matrix> sin(const Matrix& x);
Result<Matrix> cos(const Matrix& x);
Result<Matrix> reciprocal(const Matrix& x);
Result<Matrix> copy(const Matrix& x);

// 1.0 where the comparison holds, else 0.0; not differentiable. `equal` also takes I32.
Result<Matrix> equal(const Matrix& x, float value);
Result<Matrix> greater_equal(const Matrix& x, float value);

// dst += src in place; returns the next version of dst's storage.
Result<Matrix> accumulate(const Matrix& dst, const Matrix& src);

// Products. mat_mul_nt: [.., K] x [N, K] -> [.., N]; linear adds bias [N] unless it is nullptr;
// matmul: [M, K] x [K, N] -> [M, N].
Result<Matrix> mat_mul_nt(const Matrix& a, const Matrix& b);
Result<Matrix> linear(const Matrix& x, const Matrix& weight, OptMatrix bias);
Result<Matrix> matmul(const Matrix& a, const Matrix& b);

// Reductions. With an axis its extent becomes 1; without one the result is [1].
Result<Matrix> sum(const Matrix& x, std::optional<std::size_t> axis = std::nullopt);
Result<Matrix> mean(const Matrix& x, std::optional<std::size_t> axis = std::nullopt);
Result<Matrix> max(const Matrix& x);     // [1]
Result<Matrix> argmax(const Matrix& x);  // I32 over the last axis, lowest index on ties
Result<Matrix> softmax(const Matrix& x, std::size_t axis);
Result<Matrix> log_softmax(const Matrix& x, std::size_t axis);
// U32 [1]: rows of `logits` [.., C] whose first maximum is the label (U8, U32 or I32).
Result<Matrix> categorical_accuracy_count(const Matrix& logits, const Matrix& labels);

// Indexing. Indices U8, U32 or I32 of any shape S; result S + [D]; a bad index gives a zero row.
Result<Matrix> gather(const Matrix& table, const Matrix& indices);
inline Result<Matrix> embedding(const Matrix& table, const Matrix& indices) {
  return gather(table, indices);
}

// Shape. reshape is a view; at most one extent may be -1 (inferred).
Result<Matrix> reshape(const Matrix& x, const std::vector<int64_t>& shape);
Result<Matrix> transpose(const Matrix& x, std::size_t axis0, std::size_t axis1);
Result<Matrix> slice(const Matrix& x, std::size_t axis, std::size_t start, std::size_t end);
Result<Matrix> concat(absl::Span<const Matrix> inputs, std::size_t axis);

// Conversion (ops.md 3.5); the same dtype gives a view.
Result<Matrix> cast(const Matrix& x, DType dtype);

// Constants, F32.
Result<Matrix> full(Graph& graph, const Shape& shape, float value);
Result<Matrix> zeros(Graph& graph, const Shape& shape);
Result<Matrix> ones(Graph& graph, const Shape& shape);
// Overwrites `dst` in place; returns the next version of its storage.
Result<Matrix> fill(const Matrix& dst, float value);

}  // namespace oa::matrix

#endif  // OA_FRONTEND_MATRIX_H_
