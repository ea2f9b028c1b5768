// How operator functions reach the graph. Internal to frontend/.
#ifndef OA_FRONTEND_RECORD_H_
#define OA_FRONTEND_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/graph.h"
#include "ir/attribute.h"
#include "ir/graph.h"

namespace oa::internal {

// Host extents as attributes. Those that do not fit i64 fit no operand: the operator refuses them.
inline int64_t Signed(std::size_t value) {
  return value > static_cast<std::size_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(value);
}

// Records `op` with `operands` (nullptr: absent) and returns all its results.
// InvalidArgument when the operands belong to different graphs or to none.
Result<std::vector<Matrix>> RecordAll(absl::string_view op, absl::Span<const OptMatrix> operands,
                                      const ir::Attributes& attributes = {});

// The same for operators with one result.
Result<Matrix> Record(absl::string_view op, absl::Span<const OptMatrix> operands,
                      const ir::Attributes& attributes = {});

// Runs `operators`, which record several nodes into the graph of `operand`. On failure all of them
// are undone and the error names `op`.
Result<Matrix> RecordAtomically(const Matrix& operand, absl::string_view op,
                                const std::function<Result<Matrix>()>& operators);

// For operators without operands.
Result<Matrix> RecordIn(Graph& graph, absl::string_view op, const ir::Attributes& attributes);

}  // namespace oa::internal

#endif  // OA_FRONTEND_RECORD_H_
