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

// Runs `operators`, which declare or record into `graph` and return a Status or a Result. On
// failure all that they left there is undone. A graph that has failed before is refused.
template <class Operators>
auto Atomically(Graph& graph, const Operators& operators) -> decltype(operators()) {
  OA_RETURN_IF_ERROR(graph.status());
  const ir::Graph::Mark mark = graph.ir().mark();
  auto result = operators();
  if (result.ok()) return result;
  graph.ir().Rollback(mark);
  graph.ForgetRolledBack();
  return result;
}

// The same in the graph of `operand`; the error names `op`.
Result<Matrix> RecordAtomically(const Matrix& operand, absl::string_view op,
                                const std::function<Result<Matrix>()>& operators);

// For operators without operands.
Result<Matrix> RecordIn(Graph& graph, absl::string_view op, const ir::Attributes& attributes);

}  // namespace oa::internal

#endif  // OA_FRONTEND_RECORD_H_
