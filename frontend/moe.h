// Mixtures of experts. T tokens with K routes each, R = T * K; slot t * K + k is route k of token
// t. Packed rows are the routes grouped by expert. Conventions and errors as in frontend/matrix.h.
#ifndef OA_FRONTEND_MOE_H_
#define OA_FRONTEND_MOE_H_

#include <cstddef>

#include "frontend/graph.h"

namespace oa::matrix {

// All U32 and without gradient; entries of a route without a valid expert are 0xffffffff.
struct MoeExpertPlan {
  Matrix counts;         // [E]: valid routes of each expert
  Matrix offsets;        // [E + 1]: expert e owns packed rows offsets[e] .. offsets[e + 1]
  Matrix packed_token;   // [R]: packed row -> token
  Matrix packed_expert;  // [R]: packed row -> expert
  Matrix packed_slot;    // [R]: packed row -> slot
  Matrix inverse;        // [R]: slot -> packed row
};

// I32 [T, K], at most 256 experts. Within an expert, routes keep their slot order; nothing is
// dropped for capacity, and indices outside [0, num_experts) are left out.
Result<MoeExpertPlan> moe_expert_plan(const Matrix& expert_indices, std::size_t num_experts);

// bias[e] -= gamma * sign(sum_t selection_mask[t, e] - T * experts_per_token / E), in place;
// returns the next version of bias's storage. selection_mask [T, E] of 0 and 1, bias with E
// elements.
Result<Matrix> moe_routing_bias_update(const Matrix& selection_mask, const Matrix& bias,
                                       std::size_t experts_per_token, float gamma);

}  // namespace oa::matrix

namespace oa::ml::matrix {

// Probabilities [T, E] of the selected experts, I32 [T, K], divided by their sum; zeros where that
// is not positive. Indices outside [0, E) count as probability 0.
Result<Matrix> moe_route_weights(const Matrix& probabilities, const Matrix& expert_indices);

// Rows of input [T, D] in packed order, [R, D]; a zero row where packed_token names no token.
// `inverse` serves the gradient.
Result<Matrix> moe_gather(const Matrix& input, const Matrix& packed_token, const Matrix& inverse);
// Its adjoint: for each of `output_rows` tokens the sum of its packed rows of source [R, D].
Result<Matrix> moe_gather_backward(const Matrix& source, const Matrix& inverse,
                                   std::size_t output_rows);

// For each token the sum of its rows of packed [R, D], weighted by route_gate [T, K]. `packed_slot`
// serves the gradient.
Result<Matrix> moe_combine(const Matrix& packed, const Matrix& route_gate, const Matrix& inverse,
                           const Matrix& packed_slot);

// Row r of input [R, K] times the weights [E, N, K] of the expert that owns it by `offsets` [E +
// 1], transposed, plus its bias [E, N]: [R, N]. Rows that no expert owns give zero rows.
Result<Matrix> grouped_gemm_m(const Matrix& input, const Matrix& weight, const Matrix& offsets);
Result<Matrix> grouped_linear_m(const Matrix& input, const Matrix& weight, const Matrix& bias,
                                const Matrix& offsets);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_MOE_H_
