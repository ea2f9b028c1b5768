// Products by groups of rows, as the experts of a mixture need them: which rows belong to a group
// is data, `offsets` U32 [groups + 1]. Group g owns rows offsets[g] up to offsets[g + 1]; offsets
// are clipped to the rows there are. Internal to ir/ops.
#ifndef OA_IR_OPS_GROUPED_PRODUCT_H_
#define OA_IR_OPS_GROUPED_PRODUCT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ir/lower.h"
#include "ir/ops/matmul.h"

namespace oa::ir {

struct Groups {
  BufferSlice offsets;
  uint64_t count = 1;
};

// out[r, j] = sum_k a[r, k] * b[g, k, j] (+ bias[g, j]) for the group g of row r, zeros for a row
// without one; out is dense [m, n], bias [groups, n], and b.batch_stride leads from group to group.
absl::Status EmitGroupedProduct(LowerContext& context, const Groups& groups,
                                const Product& product);

// out[g, i, j] = sum over the rows r of group g of a[i, r] * b[r, j]; out is dense [groups, m, n]
// and k the number of all rows.
absl::Status EmitGroupedSum(LowerContext& context, const Groups& groups, const Product& product);

// out[g, j] = sum over the rows r of group g of x[r, j]; x is dense [rows, columns].
absl::Status EmitGroupedColumnSum(LowerContext& context, const Groups& groups, BufferSlice x,
                                  uint64_t rows, uint64_t columns, BufferSlice out);

}  // namespace oa::ir

#endif  // OA_IR_OPS_GROUPED_PRODUCT_H_
