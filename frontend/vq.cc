#include "frontend/vq.h"

#include <vector>

#include "frontend/record.h"

namespace oa::ml::matrix {

using internal::Record;
using internal::RecordAll;
using ir::Attributes;

Result<VqAssignResult> vq_assign(const Matrix& latent, const Matrix& codebook) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> results,
                      RecordAll("vq_assign", {&latent, &codebook}));
  return VqAssignResult{results[0], results[1]};
}

Result<Matrix> vq_lookup(const Matrix& codebook, const Matrix& indices) {
  return Record("vq_lookup", {&codebook, &indices});
}

Result<VqEmaState> vq_ema_update(const Matrix& latent, const Matrix& indices,
                                 const Matrix& embed_sum, const Matrix& cluster_size,
                                 const Matrix& codebook, float decay, float epsilon,
                                 float dead_threshold, std::uint32_t seed, bool normalize) {
  OA_ASSIGN_OR_RETURN(
      const std::vector<Matrix> results,
      RecordAll("vq_ema_update", {&latent, &indices, &embed_sum, &cluster_size, &codebook},
                Attributes()
                    .F32("decay", decay)
                    .F32("epsilon", epsilon)
                    .F32("dead_threshold", dead_threshold)
                    .U32("seed", seed)
                    .Bool("normalize", normalize)));
  return VqEmaState{results[0], results[1], results[2]};
}

}  // namespace oa::ml::matrix
