// VerifyPlan: structure, types, places, names and test vectors; VerifyDispatches does the rest.
#include "schema/plan_verify.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "schema/checked_math.h"
#include "schema/container.h"
#include "schema/plan.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

// Far above any device, low enough that sums of a few sizes cannot overflow.
constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 48;

ArenaKind ArenaFor(BufferKind kind) {
  if (IsPersistent(kind)) return ArenaKind::kPersistent;
  return kind == BufferKind::kTransient ? ArenaKind::kTransient : ArenaKind::kIo;
}

class Verifier {
 public:
  Verifier(const Plan& plan, const std::string& file) : plan_(plan), file_(file) {}

  absl::Status Run() {
    OA_RETURN_IF_ERROR(CheckCounts());
    OA_RETURN_IF_ERROR(CheckStages());
    OA_RETURN_IF_ERROR(CheckArenas());
    for (size_t i = 0; i < plan_.buffers.size(); ++i) OA_RETURN_IF_ERROR(CheckBuffer(i));
    OA_RETURN_IF_ERROR(CheckPersistentNames());
    OA_RETURN_IF_ERROR(CheckPlacement());
    OA_RETURN_IF_ERROR(CheckIo("inputs", plan_.inputs, BufferKind::kInput));
    OA_RETURN_IF_ERROR(CheckIo("outputs", plan_.outputs, BufferKind::kOutput));
    OA_RETURN_IF_ERROR(CheckEveryInputIsFed());
    OA_RETURN_IF_ERROR(VerifyDispatches(plan_, file_));
    return CheckTestVectors();
  }

 private:
  // An error about element `index` of `table`.
  template <class... Parts>
  absl::Status Bad(absl::string_view table, size_t index, const Parts&... parts) const {
    return absl::DataLossError(
        absl::StrCat("'", file_, "': ", table, "[", index, "] ", parts..., "."));
  }
  template <class... Parts>
  absl::Status BadBuffer(size_t index, const Parts&... parts) const {
    return Bad("buffers", index, "'", plan_.buffers[index].name, "' ", parts...);
  }

  absl::Status CheckCounts() const {
    const std::pair<const char*, size_t> counts[] = {{"arenas", plan_.arenas.size()},
                                                     {"buffers", plan_.buffers.size()},
                                                     {"kernels", plan_.kernels.size()},
                                                     {"dispatches", plan_.dispatches.size()},
                                                     {"stages", plan_.stages.size()}};
    for (const auto& [table, count] : counts) {
      if (count >= INT32_MAX) {
        return absl::DataLossError(absl::StrCat("'", file_, "' has ", count, " ", table,
                                                ", the limit is ", INT32_MAX, "."));
      }
    }
    for (size_t i = 0; i < plan_.kernels.size(); ++i) {
      if (plan_.kernels[i].name.empty()) return Bad("kernels", i, "has no name");
    }
    return absl::OkStatus();
  }

  absl::Status CheckStages() const {
    uint64_t next = 0;
    for (size_t i = 0; i < plan_.stages.size(); ++i) {
      const PlanStage& stage = plan_.stages[i];
      if (stage.kind != StageKind::kDispatches) return Bad("stages", i, "has an unknown kind");
      if (stage.first_dispatch != next) {
        return Bad("stages", i, "starts at dispatch ", stage.first_dispatch, ", expected ", next);
      }
      next += stage.dispatch_count;
      if (next > plan_.dispatches.size()) {
        return Bad("stages", i, "ends at dispatch ", next, " of ", plan_.dispatches.size());
      }
    }
    if (next == plan_.dispatches.size()) return absl::OkStatus();
    return Bad("dispatches", next, "belongs to no stage");
  }

  absl::Status CheckArenas() const {
    for (size_t i = 0; i < plan_.arenas.size(); ++i) {
      if (plan_.arenas[i].size_bytes > kMaxArenaBytes) {
        return Bad("arenas", i, "has ", plan_.arenas[i].size_bytes, " bytes, the limit is ",
                   kMaxArenaBytes);
      }
      if (plan_.arenas[i].kind > ArenaKind::kIo) return Bad("arenas", i, "has an unknown kind");
    }
    return absl::OkStatus();
  }

  absl::Status CheckBuffer(size_t i) const {
    const PlanBuffer& b = plan_.buffers[i];
    if (b.kind > BufferKind::kConstant) return BadBuffer(i, "has an unknown kind");
    if (b.init > InitKind::kData) return BadBuffer(i, "has an unknown init");
    OA_RETURN_IF_ERROR(CheckType("buffers", i, b.dtype, b.shape, b.size_bytes));
    OA_RETURN_IF_ERROR(CheckPlace(i));
    if (b.init == InitKind::kData ? !IsPersistent(b.kind) : !b.data.empty()) {
      return BadBuffer(i, "has data although it is a ", BufferKindName(b.kind), " with init ",
                       static_cast<int>(b.init));
    }
    if (b.init == InitKind::kData && b.data.size() != b.size_bytes) {
      return BadBuffer(i, "has ", b.data.size(), " bytes of data for ", b.size_bytes);
    }
    if (b.kind != BufferKind::kTransient) return absl::OkStatus();
    const uint64_t stages = std::max<uint64_t>(1, plan_.stages.size());
    if (b.first_stage > b.last_stage || b.last_stage >= stages) {
      return BadBuffer(i, "lives in stages ", b.first_stage, " to ", b.last_stage, " of ", stages);
    }
    return absl::OkStatus();
  }

  absl::Status CheckType(absl::string_view table, size_t i, DType dtype, const Shape& shape,
                         uint64_t size_bytes) const {
    if (static_cast<int>(dtype) >= kDTypeCount) return Bad(table, i, "has an unknown dtype");
    if (shape.size() > kMaxRank) {
      return Bad(table, i, "has rank ", shape.size(), ", the limit is ", kMaxRank);
    }
    const absl::StatusOr<uint64_t> bytes = ByteSize(dtype, shape);
    if (!bytes.ok()) return Bad(table, i, "is too large: ", bytes.status().message());
    if (*bytes == size_bytes) return absl::OkStatus();
    return Bad(table, i, "has ", size_bytes, " bytes but its type ", TypeText(dtype, shape),
               " takes ", *bytes);
  }

  absl::Status CheckPlace(size_t i) const {
    const PlanBuffer& b = plan_.buffers[i];
    if (b.arena >= plan_.arenas.size()) {
      return BadBuffer(i, "is in arena ", b.arena, " of ", plan_.arenas.size());
    }
    const PlanArena& arena = plan_.arenas[b.arena];
    if (arena.kind != ArenaFor(b.kind)) {
      return BadBuffer(i, "is a ", BufferKindName(b.kind), " in arena ", b.arena,
                       ", which is of another kind");
    }
    if (b.offset % kTensorAlignment != 0) {
      return BadBuffer(i, "is at ", b.offset, ", not a multiple of ", kTensorAlignment);
    }
    // The first comparison keeps the padded size from overflowing.
    if (b.size_bytes > arena.size_bytes || b.offset > arena.size_bytes ||
        AlignUp(b.size_bytes, kTensorAlignment) > arena.size_bytes - b.offset) {
      return BadBuffer(i, "takes ", b.size_bytes, " bytes, padded to a multiple of ",
                       kTensorAlignment, ", at ", b.offset, " of the ", arena.size_bytes,
                       " bytes of arena ", b.arena);
    }
    return absl::OkStatus();
  }

  absl::Status CheckPersistentNames() const {
    absl::flat_hash_set<absl::string_view> names;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& b = plan_.buffers[i];
      if (!IsPersistent(b.kind)) continue;
      if (b.name.empty()) return BadBuffer(i, "persists but has no name");
      if (!names.insert(b.name).second) return BadBuffer(i, "has the name of an earlier buffer");
    }
    return absl::OkStatus();
  }

  // Stages in which the place of a buffer is taken, inclusive.
  std::pair<uint32_t, uint32_t> Lifetime(uint32_t buffer) const {
    const PlanBuffer& b = plan_.buffers[buffer];
    if (b.kind == BufferKind::kTransient) return {b.first_stage, b.last_stage};
    return {0, UINT32_MAX};
  }

  // Sweeps over the stages. The places alive at one time are disjoint, or the sweep has stopped;
  // a new one can therefore only overlap its two neighbours.
  absl::Status CheckPlacement() const {
    std::vector<uint32_t> by_start;
    for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].size_bytes > 0) by_start.push_back(i);
    }
    std::vector<uint32_t> by_end = by_start;
    std::stable_sort(by_start.begin(), by_start.end(),
                     [&](uint32_t a, uint32_t b) { return Lifetime(a).first < Lifetime(b).first; });
    std::stable_sort(by_end.begin(), by_end.end(), [&](uint32_t a, uint32_t b) {
      return Lifetime(a).second < Lifetime(b).second;
    });
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> alive;  // (arena, offset) -> buffer
    size_t ended = 0;
    for (uint32_t index : by_start) {
      for (; Lifetime(by_end[ended]).second < Lifetime(index).first; ++ended) {
        const PlanBuffer& gone = plan_.buffers[by_end[ended]];
        alive.erase({gone.arena, gone.offset});
      }
      const PlanBuffer& b = plan_.buffers[index];
      const auto [place, inserted] = alive.emplace(std::make_pair(b.arena, b.offset), index);
      if (!inserted) return Overlap(index, place->second);
      if (place != alive.begin() && Overlaps(std::prev(place)->second, index)) {
        return Overlap(index, std::prev(place)->second);
      }
      if (std::next(place) != alive.end() && Overlaps(index, std::next(place)->second)) {
        return Overlap(index, std::next(place)->second);
      }
    }
    return absl::OkStatus();
  }

  // `left` is not behind `right` in memory.
  bool Overlaps(uint32_t left, uint32_t right) const {
    const PlanBuffer& a = plan_.buffers[left];
    const PlanBuffer& b = plan_.buffers[right];
    return a.arena == b.arena && a.offset + AlignUp(a.size_bytes, kTensorAlignment) > b.offset;
  }

  absl::Status Overlap(uint32_t a, uint32_t b) const {
    return BadBuffer(std::max(a, b), "overlaps buffers[", std::min(a, b), "] '",
                     plan_.buffers[std::min(a, b)].name, "' in arena ", plan_.buffers[a].arena,
                     " while both are alive");
  }

  absl::Status CheckIo(const char* table, const std::vector<PlanIo>& list, BufferKind kind) const {
    absl::flat_hash_set<absl::string_view> names;
    for (size_t i = 0; i < list.size(); ++i) {
      const PlanIo& io = list[i];
      if (io.name.empty()) return Bad(table, i, "has no name");
      if (!names.insert(io.name).second) {
        return Bad(table, i, "has the name '", io.name, "' of an earlier entry");
      }
      if (io.buffer >= plan_.buffers.size()) {
        return Bad(table, i, "names buffer ", io.buffer, " of ", plan_.buffers.size());
      }
      const PlanBuffer& b = plan_.buffers[io.buffer];
      if (b.kind != kind) {
        return Bad(table, i, "names buffer ", io.buffer, ", a ", BufferKindName(b.kind));
      }
      OA_RETURN_IF_ERROR(CheckType(table, i, io.dtype, io.shape, b.size_bytes));
    }
    return absl::OkStatus();
  }

  // Otherwise a replay would read what an earlier one left there.
  absl::Status CheckEveryInputIsFed() const {
    std::vector<bool> fed(plan_.buffers.size());
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      if (fed[plan_.inputs[i].buffer]) {
        return Bad("inputs", i, "names the buffer of an earlier entry");
      }
      fed[plan_.inputs[i].buffer] = true;
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].kind == BufferKind::kInput && !fed[i]) {
        return BadBuffer(i, "is an input that no entry of inputs names");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckTestVectors() const {
    for (size_t i = 0; i < plan_.test_vectors.size(); ++i) {
      const TestVector& vector = plan_.test_vectors[i];
      if (vector.replays == 0) return Bad("test_vectors", i, "has 0 replays");
      OA_RETURN_IF_ERROR(CheckTensors(i, "inputs", vector.inputs, plan_.inputs));
      OA_RETURN_IF_ERROR(CheckTensors(i, "outputs", vector.outputs, plan_.outputs));
    }
    return absl::OkStatus();
  }

  absl::Status CheckTensors(size_t vector, const char* table,
                            const std::vector<TestTensor>& tensors,
                            const std::vector<PlanIo>& list) const {
    absl::flat_hash_map<absl::string_view, uint64_t> sizes;
    for (const PlanIo& io : list) sizes[io.name] = plan_.buffers[io.buffer].size_bytes;
    const std::string problem = TestTensorProblem(tensors, std::move(sizes), table, "plan");
    return problem.empty() ? absl::OkStatus() : Bad("test_vectors", vector, problem);
  }

  const Plan& plan_;
  const std::string& file_;
};

}  // namespace

absl::Status VerifyPlan(const Plan& plan, const std::string& file) {
  return Verifier(plan, file).Run();
}

}  // namespace oa
