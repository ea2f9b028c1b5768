// Multi-tensor rule: calls of one kernel that differ only in their records (the tensors they work
// on) become one call with all records: hundreds of optimiser updates cost one dispatch.
//
// Kernels may divide their work into blocks numbered over all records. Then each record has the
// scalars `blocks` and `first_block`, the number of blocks in front of it, and the leading argument
// `total_blocks` their sum; the rule keeps all three and the grid up to date.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/grid.h"
#include "ir/kernel_layout.h"
#include "ir/passes/fuse_rules.h"

namespace oa::ir {
namespace {

// How many open groups of one kernel are tried; more exist only when updates depend on each other.
constexpr size_t kCandidates = 8;

bool SameArgument(const Argument& a, const Argument& b) {
  return a.kind == b.kind && a.bits == b.bits && a.access == b.access &&
         SameBytes(a.slice, b.slice);
}

// Whether the two calls may share everything in front of the records.
bool SameCall(const Dispatch& a, const Dispatch& b) {
  if (a.kernel != b.kernel || a.constants != b.constants) return false;
  const std::vector<KernelArgument>& row = a.kernel->arguments;
  for (size_t i = 0; i < row.size(); ++i) {
    const bool counted = row[i].name == "record_count" || row[i].name == "total_blocks";
    if (!counted && !SameArgument(a.arguments[i], b.arguments[i])) return false;
  }
  return true;
}

// Renumbers the blocks after records have been appended; the sum, or nullopt above 32 bits.
std::optional<uint64_t> NumberBlocks(Dispatch& dispatch) {
  const Kernel& kernel = *dispatch.kernel;
  const size_t stride = kernel.records.size();
  const int first_block = FindArgument(kernel.records, "first_block");
  const int blocks = FindArgument(kernel.records, "blocks");
  uint64_t total = 0;
  for (size_t at = kernel.arguments.size(); at < dispatch.arguments.size(); at += stride) {
    if (first_block >= 0) dispatch.arguments[at + first_block].bits = static_cast<uint32_t>(total);
    if (blocks >= 0) total += dispatch.arguments[at + blocks].bits;
    if (total > UINT32_MAX) return std::nullopt;
  }
  const int sum = FindArgument(kernel.arguments, "total_blocks");
  if (sum >= 0) dispatch.arguments[sum].bits = static_cast<uint32_t>(total);
  return total;
}

uint64_t Workgroups(const Dispatch& dispatch) {
  return uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
}

// The grid of a call that does the work of `a` and `b`, in `blocks` if its kernel counts any.
std::optional<uint64_t> JoinedGroups(const Dispatch& a, const Dispatch& b, uint64_t blocks,
                                     const LoopCost& loops, const DeviceProfile& profile) {
  // Kernels that count no blocks say by the grids of their calls how much work there is.
  const uint64_t groups =
      RowGroupCount(profile, blocks > 0 ? blocks : Workgroups(a) + Workgroups(b));
  return GroupsInLoopBudget(profile, groups, loops.shared, 1, loops.once);
}

std::optional<Dispatch> Concatenate(const Dispatch& a, const Dispatch& b,
                                    const DeviceProfile& profile) {
  const Kernel& kernel = *a.kernel;
  const int count = FindArgument(kernel.arguments, "record_count");
  if (count < 0) return std::nullopt;
  Dispatch combined = a;
  combined.arguments.insert(
      combined.arguments.end(),
      b.arguments.begin() + static_cast<std::ptrdiff_t>(kernel.arguments.size()),
      b.arguments.end());
  combined.arguments[count].bits += b.arguments[count].bits;
  const std::optional<uint64_t> blocks = NumberBlocks(combined);
  if (!blocks) return std::nullopt;
  combined.loops = {a.loops.shared + b.loops.shared, a.loops.once + b.loops.once};
  const std::optional<uint64_t> groups =
      JoinedGroups(a, b, *blocks, combined.loops, profile);
  if (!groups) return std::nullopt;
  combined.grid = FoldGrid(profile, *groups);
  return combined;
}

// Calls that have been joined, and what their parts were called.
struct Group {
  uint32_t position;
  std::string label;  // of the first call
  bool one_label;     // all calls had it
  size_t calls;
};

bool Join(FusionState& state, const DeviceProfile& profile, Group& group, uint32_t call) {
  const Dispatch& a = state.at(group.position);
  const Dispatch& b = state.at(call);
  if (!SameCall(a, b) || Conflicts(a, b)) return false;
  const std::optional<uint32_t> place = state.MeetingPoint(group.position, call);
  if (!place) return false;
  std::optional<Dispatch> combined = Concatenate(a, b, profile);
  if (!combined) return false;
  group.one_label &= b.label == group.label;
  group.calls += 1;
  state.Replace(group.position, call, *place, *std::move(combined), "multi-tensor");
  group.position = *place;
  return true;
}

}  // namespace

void FuseRecords(FusionState& state, const DeviceProfile& profile) {
  std::vector<Group> groups;
  for (uint32_t i = 0; i < state.size(); ++i) {
    if (!state.alive(i) || state.at(i).kernel == nullptr) continue;
    const Dispatch& call = state.at(i);
    if (call.kernel->records.empty() || call.epilogue) continue;
    size_t tried = 0;
    bool joined = false;
    for (size_t g = groups.size(); g-- > 0 && tried < kCandidates && !joined;) {
      if (state.at(groups[g].position).kernel != call.kernel) continue;
      ++tried;
      joined = Join(state, profile, groups[g], i);
      if (joined) break;
    }
    if (!joined) groups.push_back({i, call.label, true, 1});
  }
  for (const Group& group : groups) {
    if (group.calls < 2) continue;
    const std::string label = group.one_label ? group.label : state.at(group.position).label;
    state.Rename(group.position, absl::StrCat(label, " x ", group.calls));
  }
}

}  // namespace oa::ir
