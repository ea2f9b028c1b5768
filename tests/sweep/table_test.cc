// The operator table is complete, and every rejection rule holds. Needs no device.
#include <doctest/doctest.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/op.h"
#include "tests/sweep/sample_graph.h"

namespace oa::testing {
namespace {

bool IsBackward(const std::string& name) { return absl::EndsWith(name, "_backward"); }

TEST_CASE("table: every operator has a reference") {
  std::set<std::string> referenced;
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    REQUIRE_MESSAGE(ir::FindOp(op.op) != nullptr, op.op);
    CHECK_MESSAGE(referenced.insert(op.op).second, "two references for ", op.op);
    CHECK_MESSAGE(op.samples.size() >= 2, op.op, " has fewer than two samples");
    CHECK_MESSAGE(!op.rejections.empty(), op.op, " has no rejection");
  }
  for (const ir::OpDef& row : ir::OpTable()) {
    INFO(row.name);
    const bool infers = row.infer != nullptr;
    CHECK(infers);
    const bool differentiable = row.adjoint != nullptr;
    if (IsBackward(row.name)) {
      // Covered through the forward operator's adjoint.
      CHECK(referenced.count(row.name.substr(0, row.name.size() - 9)) == 1);
      CHECK_FALSE(differentiable);
    } else {
      CHECK(referenced.count(row.name) == 1);
    }
  }
}

// The fields that `row` should have and has not.
std::string MissingWords(const ir::OpDef& row) {
  std::vector<std::string> missing;
  if (row.family.empty()) missing.push_back("family");
  if (row.equation.empty()) missing.push_back("equation");
  if (row.shapes.empty()) missing.push_back("shapes");
  if (row.rejects.empty()) missing.push_back("rejects");
  if (row.kernels.empty() && row.lower != nullptr) missing.push_back("kernels");
  return absl::StrJoin(missing, ", ");
}

TEST_CASE("table: every row says what the reference page prints") {
  std::vector<std::string> incomplete;
  for (const ir::OpDef& row : ir::OpTable()) {
    const std::string missing = MissingWords(row);
    if (!missing.empty()) incomplete.push_back(absl::StrCat(row.name, " (", missing, ")"));
  }
  CHECK_EQ(absl::StrJoin(incomplete, "; "), "");
}

TEST_CASE("table: names are unique and sorted") {
  for (size_t i = 1; i < ir::OpTable().size(); ++i) {
    CHECK(ir::OpTable()[i - 1].name < ir::OpTable()[i].name);
  }
}

void CheckRejection(const reference::ReferenceOp& op, const reference::Rejection& rejection) {
  INFO(op.op, ": ", rejection.why);
  const ir::OpDef& row = *ir::FindOp(op.op);
  ir::Graph graph("rejection");
  std::vector<ir::ValueId> operands;
  for (size_t i = 0; i < rejection.inputs.size(); ++i) {
    const reference::InputSpec& spec = rejection.inputs[i];
    if (spec.fill == reference::InputSpec::Fill::kAbsent) {
      operands.push_back(ir::kAbsent);
      continue;
    }
    const bool mutated = i < row.operands.size() && row.operands[i].mutated;
    absl::StatusOr<ir::ValueId> value =
        graph.AddStorage(mutated ? BufferKind::kState : BufferKind::kInput, "x" + std::to_string(i),
                         spec.dtype, spec.shape);
    REQUIRE_MESSAGE(value.ok(), value.status().ToString());
    operands.push_back(*value);
  }
  const size_t values = graph.values().size();
  const auto result = graph.Record(op.op, operands, rejection.attributes);
  REQUIRE_FALSE(result.ok());
  CHECK_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  CHECK_MESSAGE(absl::StrContains(result.status().message(), op.op), result.status().ToString());
  CHECK_EQ(graph.nodes().size(), 0u);
  CHECK_EQ(graph.values().size(), values);
}

TEST_CASE("table: every rejection fails, names the operator and records nothing") {
  for (const reference::ReferenceOp& op : reference::AllReferences()) {
    for (const reference::Rejection& rejection : op.rejections) CheckRejection(op, rejection);
  }
}

}  // namespace
}  // namespace oa::testing
