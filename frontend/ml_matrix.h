// Machine-learning operators. Conventions and errors as in frontend/matrix.h.
#ifndef OA_FRONTEND_ML_MATRIX_H_
#define OA_FRONTEND_ML_MATRIX_H_

#include <cstddef>

#include "frontend/graph.h"

namespace oa::ml::matrix {

using oa::OptMatrix;

// Activations: F32 of any shape, zero elements allowed; same shape out.
Result<Matrix> relu(const Matrix& input);
Result<Matrix> leaky_relu(const Matrix& input, float alpha);
Result<Matrix> elu(const Matrix& input, float alpha);
Result<Matrix> gelu(const Matrix& input);  // tanh approximation
Result<Matrix> mish(const Matrix& input);
Result<Matrix> sigmoid(const Matrix& input);
Result<Matrix> silu(const Matrix& input);
Result<Matrix> softplus(const Matrix& input);
Result<Matrix> tanh(const Matrix& input);
// silu(gate) * up, equal shapes.
Result<Matrix> swiglu(const Matrix& gate, const Matrix& up);
// [.., 2n] -> [.., n]: silu of the first half of each row times the second half.
Result<Matrix> silu_mul(const Matrix& input, std::size_t intermediate_size);

// Batched products: [N,M,K] x [N,K,P], [N,M,K] x [N,P,K] and [N,K,M] x [N,K,P] to [N,M,P].
Result<Matrix> bmm(const Matrix& left, const Matrix& right);
Result<Matrix> bmm_nt(const Matrix& left, const Matrix& right);
Result<Matrix> bmm_tn(const Matrix& left, const Matrix& right);

// The same values without a gradient edge; a view, any dtype.
Result<Matrix> detach(const Matrix& input);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_ML_MATRIX_H_
