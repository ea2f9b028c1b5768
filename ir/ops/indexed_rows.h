// Rows of a table by index, and sums of rows by index. Indices are data: those outside the table
// name no row. Internal to ir/ops.
#ifndef OA_IR_OPS_INDEXED_ROWS_H_
#define OA_IR_OPS_INDEXED_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/lower.h"

namespace oa::ir {

// `count` indices into a table of `rows` rows.
struct IndexedRows {
  BufferSlice indices;
  DType dtype = DType::I32;
  uint64_t count = 0, rows = 0;
};

// Which positions belong to which row: kernels/index/index_lists.comp.
struct IndexLists {
  BufferSlice ends;   // [rows]
  BufferSlice order;  // [count]
};
absl::StatusOr<IndexLists> EmitIndexLists(LowerContext& ctx, const IndexedRows& by);

// y[n, :] = table[indices[n], :], zeros for an index outside the table. Nothing when y is empty.
absl::Status EmitRowGather(LowerContext& ctx, const IndexedRows& by, BufferSlice table,
                           uint64_t columns, BufferSlice y);

// sums[v, :] = sum of x[n, :] over the n with indices[n] == v, n ascending; x is [count, columns].
absl::Status EmitRowSums(LowerContext& ctx, const IndexedRows& by, BufferSlice x, uint64_t columns,
                         BufferSlice sums);
// The same with lists that exist.
absl::Status EmitListSums(LowerContext& ctx, const IndexedRows& by, const IndexLists& lists,
                          BufferSlice x, uint64_t columns, BufferSlice sums);

}  // namespace oa::ir

#endif  // OA_IR_OPS_INDEXED_ROWS_H_
