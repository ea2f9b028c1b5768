#include "frontend/record.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace oa::internal {
namespace {

// The graph all operands share.
Result<Graph*> CommonGraph(absl::string_view op, absl::Span<const OptMatrix> operands) {
  Graph* graph = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    Graph* own = operands[i]->graph();
    if (own == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(op, ": operand ", i, " is a default-constructed Matrix of no graph"));
    }
    OA_RETURN_IF_ERROR(own->status());
    if (graph != nullptr && own != graph) {
      return absl::InvalidArgumentError(
          absl::StrCat(op, ": operand ", i, " belongs to graph '", own->name(),
                       "', the ones before it to graph '", graph->name(), "'"));
    }
    graph = own;
  }
  if (graph == nullptr) return absl::InvalidArgumentError(absl::StrCat(op, ": has no operands"));
  return graph;
}

Result<std::vector<Matrix>> RecordValues(Graph& graph, absl::string_view op,
                                         absl::Span<const ir::ValueId> operands,
                                         const ir::Attributes& attributes) {
  ir::Graph::RecordOptions options;
  options.label = graph.label();
  OA_ASSIGN_OR_RETURN(std::vector<ir::ValueId> values,
                      graph.ir().Record(op, operands, attributes, options));
  graph.NoteResults(values);
  std::vector<Matrix> results;
  results.reserve(values.size());
  for (ir::ValueId value : values) results.push_back(graph.Handle(value));
  return results;
}

}  // namespace

Result<std::vector<Matrix>> RecordAll(absl::string_view op, absl::Span<const OptMatrix> operands,
                                      const ir::Attributes& attributes) {
  OA_ASSIGN_OR_RETURN(Graph * graph, CommonGraph(op, operands));
  std::vector<ir::ValueId> values;
  values.reserve(operands.size());
  for (OptMatrix operand : operands) {
    values.push_back(operand == nullptr ? ir::kAbsent : operand->id());
  }
  return RecordValues(*graph, op, values, attributes);
}

Result<Matrix> Record(absl::string_view op, absl::Span<const OptMatrix> operands,
                      const ir::Attributes& attributes) {
  OA_ASSIGN_OR_RETURN(std::vector<Matrix> results, RecordAll(op, operands, attributes));
  return results.front();
}

Result<Matrix> RecordAtomically(const Matrix& operand, absl::string_view op,
                                const std::function<Result<Matrix>()>& operators) {
  Graph* graph = operand.graph();
  if (graph == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": operand 0 is a default-constructed Matrix of no graph"));
  }
  OA_RETURN_IF_ERROR(graph->status());
  Result<Matrix> result = Atomically(*graph, operators);
  return result.ok() ? result : Annotate(result.status(), op);
}

Result<Matrix> RecordIn(Graph& graph, absl::string_view op, const ir::Attributes& attributes) {
  OA_RETURN_IF_ERROR(graph.status());
  OA_ASSIGN_OR_RETURN(std::vector<Matrix> results, RecordValues(graph, op, {}, attributes));
  return results.front();
}

}  // namespace oa::internal
