#include "frontend/loss.h"

#include "frontend/record.h"

namespace oa::ml::loss {

using internal::Record;
using ir::Attributes;

Result<Matrix> mse(const Matrix& prediction, const Matrix& target) {
  return Record("mse", {&prediction, &target});
}
Result<Matrix> l1(const Matrix& prediction, const Matrix& target) {
  return Record("l1", {&prediction, &target});
}
Result<Matrix> smooth_l1(const Matrix& prediction, const Matrix& target, float beta) {
  return Record("smooth_l1", {&prediction, &target}, Attributes().F32("beta", beta));
}
Result<Matrix> bce(const Matrix& prediction, const Matrix& target) {
  return Record("bce", {&prediction, &target});
}
Result<Matrix> bce_with_logits(const Matrix& logits, const Matrix& target) {
  return Record("bce_with_logits", {&logits, &target});
}
Result<Matrix> cross_entropy(const Matrix& logits, const Matrix& labels,
                             std::optional<int64_t> ignore_index) {
  return Record("cross_entropy", {&logits, &labels},
                Attributes().Optional("ignore_index", ignore_index));
}
Result<Matrix> cross_entropy_masked(const Matrix& logits, const Matrix& labels, const Matrix& mask,
                                    std::size_t valid_count) {
  const int64_t count = internal::Signed(valid_count);
  return Record("cross_entropy_masked", {&logits, &labels, &mask},
                Attributes().I64("valid_count", count));
}

}  // namespace oa::ml::loss
