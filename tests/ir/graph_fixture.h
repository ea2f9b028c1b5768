// Short ways to build graphs in the tests of ir/.
#ifndef OA_TESTS_IR_GRAPH_FIXTURE_H_
#define OA_TESTS_IR_GRAPH_FIXTURE_H_

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "ir/graph.h"
#include "tests/support/must.h"

namespace oa::ir {

using testing::Must;

inline ValueId Declare(Graph& graph, BufferKind kind, absl::string_view name, const Shape& shape,
                       DType dtype = DType::F32) {
  return Must(graph.AddStorage(kind, name, dtype, shape));
}

// The first result of a call.
inline ValueId Call(Graph& graph, absl::string_view op, const std::vector<ValueId>& inputs,
                    const Attributes& attributes = {}) {
  return Must(graph.Record(op, inputs, attributes))[0];
}

inline ValueId SumAll(Graph& graph, ValueId x) {
  return Call(graph, "sum", {x}, Attributes().Optional("axis", std::nullopt));
}

// The status of a call that must fail without changing the graph.
inline absl::Status CallFails(Graph& graph, absl::string_view op,
                              const std::vector<ValueId>& inputs, const Attributes& attributes = {},
                              const Graph::RecordOptions& options = {}) {
  const std::string before = DumpGraph(graph);
  const absl::Status status = graph.Record(op, inputs, attributes, options).status();
  CHECK_FALSE(status.ok());
  CHECK_EQ(DumpGraph(graph), before);
  return status;
}

#define OA_CHECK_STATUS(status, expected_code, text)                             \
  do {                                                                           \
    const absl::Status oa_got = (status);                                        \
    CHECK_EQ(oa_got.code(), absl::StatusCode::expected_code);                    \
    CHECK_MESSAGE(absl::StrContains(oa_got.message(), text), oa_got.ToString()); \
  } while (false)

}  // namespace oa::ir

#endif  // OA_TESTS_IR_GRAPH_FIXTURE_H_
