#include "frontend/recurrent.h"

#include "frontend/record.h"

namespace oa::ml::matrix {

Result<Matrix> rnn_cell(const Matrix& gates_i, const Matrix& hidden, const Matrix& weight_hh,
                        OptMatrix bias_hh) {
  return internal::Record("rnn_cell", {&gates_i, &hidden, &weight_hh, bias_hh});
}

Result<Matrix> rnn_scan(const Matrix& gates_i, const Matrix& weight_hh, OptMatrix bias_hh) {
  return internal::Record("rnn_scan", {&gates_i, &weight_hh, bias_hh});
}

Result<Matrix> gru_cell(const Matrix& gates_i, const Matrix& hidden, const Matrix& weight_hh,
                        OptMatrix bias_hh) {
  return internal::Record("gru_cell", {&gates_i, &hidden, &weight_hh, bias_hh});
}

Result<Matrix> gru_scan(const Matrix& gates_i, const Matrix& weight_hh, OptMatrix bias_hh) {
  return internal::Record("gru_scan", {&gates_i, &weight_hh, bias_hh});
}

}  // namespace oa::ml::matrix
