// Losses: F32 [1]; differentiable in the first operand only. Conventions as in frontend/matrix.h.
#ifndef OA_FRONTEND_LOSS_H_
#define OA_FRONTEND_LOSS_H_

#include <cstdint>
#include <optional>

#include "frontend/graph.h"

namespace oa::ml::loss {

// Means over all elements; equal, nonempty F32 shapes.
Result<Matrix> mse(const Matrix& prediction, const Matrix& target);
Result<Matrix> l1(const Matrix& prediction, const Matrix& target);
Result<Matrix> smooth_l1(const Matrix& prediction, const Matrix& target, float beta = 1.0f);
Result<Matrix> bce(const Matrix& prediction, const Matrix& target);
Result<Matrix> bce_with_logits(const Matrix& logits, const Matrix& target);

// Mean of -log_softmax(logits)[label] over the rows of logits [R, C]; labels U8, U32 or I32 [R].
// Rows whose label equals `ignore_index` do not count.
Result<Matrix> cross_entropy(const Matrix& logits, const Matrix& labels,
                             std::optional<int64_t> ignore_index = std::nullopt);
// The sum over rows with mask != 0, divided by `valid_count` (1 .. R).
Result<Matrix> cross_entropy_masked(const Matrix& logits, const Matrix& labels, const Matrix& mask,
                                    std::size_t valid_count);

}  // namespace oa::ml::loss

#endif  // OA_FRONTEND_LOSS_H_
