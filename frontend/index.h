// Operators by index and position. Conventions and errors as in frontend/matrix.h.
#ifndef OA_FRONTEND_INDEX_H_
#define OA_FRONTEND_INDEX_H_

#include <cstddef>

#include "frontend/graph.h"

namespace oa::matrix {

// x [T, E], indices I32 [T, K] -> [T, K]; 0 for an index outside [0, E).
Result<Matrix> gather_last_dim(const Matrix& x, const Matrix& indices);
// source [R, D], indices U32 [R] -> [rows, D]: y[indices[r]] += source[r]; others are dropped.
Result<Matrix> scatter_add_rows(const Matrix& source, const Matrix& indices, std::size_t rows);
// Each slice along the axis `repeats` times, one behind the other.
Result<Matrix> repeat_interleave(const Matrix& x, std::size_t repeats, std::size_t axis);
// scores [.., Tq, Tk] with -1e9 where key > query.
Result<Matrix> causal_mask(const Matrix& scores);

// The k largest of each row, descending, equal ones by lower index; not differentiable.
struct TopK {
  Matrix values;   // F32 [.., k]
  Matrix indices;  // I32 [.., k]
};
Result<TopK> top_k(const Matrix& x, std::size_t k);
// indices I32 [T, K] -> F32 [T, width] of 0 and 1; invalid indices are ignored.
Result<Matrix> top_k_mask(const Matrix& indices, std::size_t width);

}  // namespace oa::matrix

#endif  // OA_FRONTEND_INDEX_H_
