#include "frontend/ml_matrix.h"

#include "frontend/record.h"

namespace oa::ml::matrix {

using internal::Record;
using ir::Attributes;

Result<Matrix> relu(const Matrix& input) { return Record("relu", {&input}); }
Result<Matrix> leaky_relu(const Matrix& input, float alpha) {
  return Record("leaky_relu", {&input}, Attributes().F32("alpha", alpha));
}
Result<Matrix> elu(const Matrix& input, float alpha) {
  return Record("elu", {&input}, Attributes().F32("alpha", alpha));
}
Result<Matrix> gelu(const Matrix& input) { return Record("gelu", {&input}); }
Result<Matrix> mish(const Matrix& input) { return Record("mish", {&input}); }
Result<Matrix> sigmoid(const Matrix& input) { return Record("sigmoid", {&input}); }
Result<Matrix> silu(const Matrix& input) { return Record("silu", {&input}); }
Result<Matrix> softplus(const Matrix& input) { return Record("softplus", {&input}); }
Result<Matrix> tanh(const Matrix& input) { return Record("tanh", {&input}); }
Result<Matrix> swiglu(const Matrix& gate, const Matrix& up) {
  return Record("swiglu", {&gate, &up});
}
Result<Matrix> silu_mul(const Matrix& input, std::size_t intermediate_size) {
  // A size beyond i64 cannot be half of any extent; the operator refuses the clamped value too.
  const int64_t n = internal::Signed(intermediate_size);
  return Record("silu_mul", {&input}, Attributes().I64("intermediate_size", n));
}
Result<Matrix> bmm(const Matrix& left, const Matrix& right) {
  return Record("bmm", {&left, &right});
}
Result<Matrix> bmm_nt(const Matrix& left, const Matrix& right) {
  return Record("bmm_nt", {&left, &right});
}
Result<Matrix> bmm_tn(const Matrix& left, const Matrix& right) {
  return Record("bmm_tn", {&left, &right});
}
Result<Matrix> detach(const Matrix& input) { return Record("detach", {&input}); }

}  // namespace oa::ml::matrix
