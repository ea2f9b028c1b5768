// GraphLoader: rebuilds a graph from the tables of a file under the rules of recording, so that a
// loaded graph holds nothing that could not have been recorded. Internal to ir/.
#ifndef OA_IR_GRAPH_LOAD_H_
#define OA_IR_GRAPH_LOAD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ir/graph.h"
#include "ir/graph_tables.h"
#include "ir/op.h"

namespace oa::ir {

// Used once. Nothing read is trusted: every id is checked before it becomes an index.
class GraphLoader {
 public:
  // `file` names the file in messages.
  GraphLoader(GraphTables tables, const std::string& file);

  // DataLoss for inconsistent tables, InvalidArgument for a node that breaks its operator's rules.
  absl::StatusOr<Graph> Load();

 private:
  template <class... Parts>
  absl::Status Bad(absl::string_view table, size_t index, const Parts&... parts) const {
    return absl::DataLossError(
        absl::StrCat("'", file_, "': ", table, "[", index, "] ", parts..., "."));
  }
  // A violated rule of recording: the file is not damaged, its graph is wrong.
  absl::Status Rule(size_t node, const absl::Status& status) const;

  absl::Status CheckStorages();
  absl::Status CheckValues() const;
  absl::Status AssignProducers();
  absl::Status CheckSources();
  absl::Status CheckStoragesAreUsed() const;

  // Repeats the recording of node `index` and compares.
  absl::Status Replay(size_t index);
  absl::StatusOr<Node> MakeNode(size_t index) const;
  absl::Status CheckOperandIds(size_t index) const;
  absl::Status CheckToken(size_t index, const AttributeDef& def, const Attribute& attribute) const;
  absl::Status CheckResult(size_t index, const Node& node, ValueId id, const ResultType& result);

  absl::Status CheckInputs() const;
  absl::Status CheckOutputs() const;
  absl::Status CheckWhole() const;
  absl::Status CheckTestVectors() const;
  absl::Status CheckTensors(size_t vector, absl::string_view table,
                            const std::vector<TestTensor>& tensors,
                            const std::vector<NamedValue>& list) const;

  const std::string file_;
  const uint64_t graph_identity_;
  std::vector<NodeTable> nodes_;
  Graph graph_;
  std::vector<bool> started_;     // storages whose first value has been seen
  std::vector<ValueId> sources_;  // of the input storages, in order
};

}  // namespace oa::ir

#endif  // OA_IR_GRAPH_LOAD_H_
