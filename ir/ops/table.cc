// The one list of all families. No static registration: what is listed here is what exists.
#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/op.h"
#include "ir/ops/families.h"

namespace oa::ir {
namespace {

// A backward row is recorded by an adjoint: what it refuses follows from its forward row.
void CompleteBackwardRow(OpDef& row) {
  constexpr absl::string_view kSuffix = "_backward";
  if (!row.rejects.empty() || !absl::EndsWith(row.name, kSuffix)) return;
  const std::string forward = row.name.substr(0, row.name.size() - kSuffix.size());
  row.rejects =
      absl::StrCat("what ", forward, " refuses; operands that are not shaped as in ", forward);
}

std::vector<OpDef> BuildTable() {
  std::vector<OpDef> table;
  for (auto family : {ActivationOps, ElementwiseOps, CastOps, ConvOps, BlasOps,
                      BatchedProductOps, NormOps, ReduceOps, ShapeOps, IndexOps, LossOps,
                      OptimiserOps, MoePlanOps, MoeOps, GroupedProductOps, PoolOps, Mamba3Ops,
                      RandomOps, RecurrentOps, TopKOps, RepeatOps, AttentionOps, RopeOps, VqOps}) {
    std::vector<OpDef> rows = family();
    std::move(rows.begin(), rows.end(), std::back_inserter(table));
  }
  for (OpDef& row : table) CompleteBackwardRow(row);
  std::sort(table.begin(), table.end(),
            [](const OpDef& a, const OpDef& b) { return a.name < b.name; });
  return table;
}

}  // namespace

const std::vector<OpDef>& OpTable() {
  static const std::vector<OpDef>& table = *new std::vector<OpDef>(BuildTable());
  return table;
}

const OpDef* FindOp(absl::string_view name) {
  const std::vector<OpDef>& table = OpTable();
  auto it = std::lower_bound(
      table.begin(), table.end(), name,
      [](const OpDef& row, absl::string_view wanted) { return row.name < wanted; });
  return it != table.end() && it->name == name ? &*it : nullptr;
}

}  // namespace oa::ir
