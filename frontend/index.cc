#include "frontend/index.h"

#include "frontend/record.h"

namespace oa::matrix {
namespace {

using internal::Record;
using internal::RecordAll;
using internal::Signed;
using ir::Attributes;

}  // namespace

Result<Matrix> gather_last_dim(const Matrix& x, const Matrix& indices) {
  return Record("gather_last_dim", {&x, &indices});
}
Result<Matrix> scatter_add_rows(const Matrix& source, const Matrix& indices, std::size_t rows) {
  return Record("scatter_add_rows", {&source, &indices}, Attributes().I64("rows", Signed(rows)));
}
Result<Matrix> repeat_interleave(const Matrix& x, std::size_t repeats, std::size_t axis) {
  return Record("repeat_interleave", {&x},
                Attributes().I64("repeats", Signed(repeats)).I64("axis", Signed(axis)));
}
Result<Matrix> causal_mask(const Matrix& scores) { return Record("causal_mask", {&scores}); }
Result<TopK> top_k(const Matrix& x, std::size_t k) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> results,
                      RecordAll("top_k", {&x}, Attributes().I64("k", Signed(k))));
  return TopK{results[0], results[1]};
}
Result<Matrix> top_k_mask(const Matrix& indices, std::size_t width) {
  return Record("top_k_mask", {&indices}, Attributes().I64("width", Signed(width)));
}

}  // namespace oa::matrix
