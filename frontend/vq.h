// Vector quantisation. N latents of D columns, K codes. Nothing here carries a gradient; the
// straight-through estimator is add(z, detach(sub(q, z))): value q, gradient straight to z.
// Conventions and errors as in frontend/matrix.h.
#ifndef OA_FRONTEND_VQ_H_
#define OA_FRONTEND_VQ_H_

#include <cstdint>

#include "frontend/graph.h"

namespace oa::ml::matrix {

struct VqAssignResult {
  Matrix indices;    // I32 [N]: of the code with the smallest squared distance, the lowest on ties
  Matrix quantized;  // [N, D]: those codes
};
// latent [N, D], codebook [K, D].
Result<VqAssignResult> vq_assign(const Matrix& latent, const Matrix& codebook);

// Rows of codebook [K, D] by I32 [N], which may be empty; a zero row for an index outside [0, K).
Result<Matrix> vq_lookup(const Matrix& codebook, const Matrix& indices);

struct VqEmaState {
  Matrix embed_sum;     // [K, D]: decayed sum of the latents of each code
  Matrix cluster_size;  // [K]: decayed number of them
  Matrix codebook;      // [K, D]: their quotient
};
// The next state after a batch of latents [N, D] with indices I32 [N], of which those outside
// [0, K) count for no code:
//   size = decay * cluster_size + (1 - decay) * count
//   sum = decay * embed_sum + (1 - decay) * sum of the code's latents
//   code = sum / max(size, epsilon); with `normalize` divided by its root mean square, if > epsilon
// A code with size < dead_threshold is revived: sum and code become a row of latent that the code's
// number and `seed` choose, size becomes 1. The operands are not modified; of `codebook` only the
// shape matters. Rejects a decay outside [0, 1], an epsilon that is not positive and finite, a
// dead_threshold that is negative or not finite.
Result<VqEmaState> vq_ema_update(const Matrix& latent, const Matrix& indices,
                                 const Matrix& embed_sum, const Matrix& cluster_size,
                                 const Matrix& codebook, float decay, float epsilon,
                                 float dead_threshold, std::uint32_t seed, bool normalize);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_VQ_H_
