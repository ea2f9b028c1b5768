// Recurrences. Conventions and errors as in frontend/matrix.h. The input projection (with its bias)
// is computed before, for all steps at once: gates_i = linear(x, weight_ih, bias_ih).
#ifndef OA_FRONTEND_RECURRENT_H_
#define OA_FRONTEND_RECURRENT_H_

#include "frontend/graph.h"

namespace oa::ml::matrix {

using oa::OptMatrix;

// One step of a plain recurrence, h' = tanh(gates_i + weight_hh @ h + bias_hh).
// gates_i and hidden [B, H], weight_hh [H, H], bias_hh [H] or absent; H <= 1024; the result [B, H].
Result<Matrix> rnn_cell(const Matrix& gates_i, const Matrix& hidden, const Matrix& weight_hh,
                        OptMatrix bias_hh);

// All S steps from the state 0: gates_i [B, S, H], the states behind every step [B, S, H].
Result<Matrix> rnn_scan(const Matrix& gates_i, const Matrix& weight_hh, OptMatrix bias_hh);

// One step of a gated recurrence (Cho et al. 2014), p = weight_hh @ h + bias_hh:
//   r = sigmoid(i_r + p_r), z = sigmoid(i_z + p_z), n = tanh(i_n + r * p_n),
//   h' = (1 - z) * n + z * h
// gates_i [B, 3H] in the order r, z, n, hidden [B, H], weight_hh [3H, H], bias_hh [3H] or absent;
// H <= 1024; the result [B, H].
Result<Matrix> gru_cell(const Matrix& gates_i, const Matrix& hidden, const Matrix& weight_hh,
                        OptMatrix bias_hh);

// All S steps from the state 0: gates_i [B, S, 3H], the states behind every step [B, S, H].
Result<Matrix> gru_scan(const Matrix& gates_i, const Matrix& weight_hh, OptMatrix bias_hh);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_RECURRENT_H_
