// multi-tensor: updates of many parameters by one rule become one dispatch whose records list the
// tensors. Workgroups work on blocks; record r owns blocks first_block .. first_block + blocks.
#include <algorithm>
#include <map>
#include <utility>

#include "ir/passes/fusion_state.h"

namespace oa::ir {
namespace {

// Leading arguments that depend on the records.
bool IsCount(const std::string& name) { return name == "record_count" || name == "total_blocks"; }

bool SameArgument(const Argument& a, const Argument& b) {
  return a.kind == b.kind && SameSlice(a.slice, b.slice) && a.bits == b.bits;
}

bool SameLeading(const Dispatch& a, const Dispatch& b) {
  const Kernel& kernel = *a.kernel;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    if (!IsCount(kernel.arguments[i].name) && !SameArgument(a.arguments[i], b.arguments[i])) {
      return false;
    }
  }
  return a.constants == b.constants;
}

size_t FieldIndex(const std::vector<KernelArgument>& fields, absl::string_view name) {
  size_t i = 0;
  while (i < fields.size() && fields[i].name != name) ++i;
  return i;
}

// Block numbers and counts after records were appended.
void Renumber(Dispatch& dispatch) {
  const Kernel& kernel = *dispatch.kernel;
  const size_t stride = kernel.records.size();
  const size_t first_block = FieldIndex(kernel.records, "first_block");
  const size_t blocks = FieldIndex(kernel.records, "blocks");
  uint32_t total = 0, count = 0;
  for (size_t r = kernel.arguments.size(); r < dispatch.arguments.size(); r += stride, ++count) {
    if (first_block < stride) dispatch.arguments[r + first_block].bits = total;
    total += blocks < stride ? dispatch.arguments[r + blocks].bits : 1;
  }
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    if (kernel.arguments[i].name == "record_count") dispatch.arguments[i].bits = count;
    if (kernel.arguments[i].name == "total_blocks") dispatch.arguments[i].bits = total;
  }
}

bool Merge(FusionState& state, uint32_t first, uint32_t second) {
  const Dispatch& a = state.at(first);
  const Dispatch& b = state.at(second);
  if (!SameLeading(a, b) || Conflicts(a, b)) return false;
  const std::optional<uint32_t> place = state.MeetingPlace(first, second);
  if (!place) return false;
  Dispatch merged = a;
  merged.arguments.insert(merged.arguments.end(),
                          b.arguments.begin() + a.kernel->arguments.size(), b.arguments.end());
  // One workgroup a block; the grid of each was that for its own blocks.
  const uint64_t groups = std::max<uint64_t>(1, uint64_t{a.grid[0]} + b.grid[0]);
  merged.grid = {static_cast<uint32_t>(std::min<uint64_t>(groups, 65535)), 1, 1};
  Renumber(merged);
  state.Replace(first, second, *place, std::move(merged), "multi-tensor");
  return true;
}

}  // namespace

bool FuseRecords(FusionState& state) {
  bool changed = false;
  std::map<const Kernel*, std::vector<uint32_t>> seen;
  for (uint32_t d = 0; d < state.size(); ++d) {
    if (!state.alive(d) || state.at(d).kernel == nullptr) continue;
    if (state.at(d).kernel->records.empty()) continue;
    std::vector<uint32_t>& others = seen[state.at(d).kernel];
    bool merged = false;
    for (auto it = others.rbegin(); it != others.rend() && !merged; ++it) {
      if (!state.alive(*it) || !Merge(state, *it, d)) continue;
      if (!state.alive(*it)) *it = d;
      merged = changed = true;
    }
    if (!merged) others.push_back(d);
  }
  return changed;
}

}  // namespace oa::ir
