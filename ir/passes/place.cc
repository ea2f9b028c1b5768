// Offsets for buffers whose lifetimes are intervals of stages: dynamic storage allocation, solved by
// two greedy orders, the smaller result being kept (Pisarchyk and Lee 2020, "Efficient memory
// management for deep neural net inference"): largest buffer first, and busiest stage first. Each
// buffer takes the lowest gap that fits among the buffers placed before it that are alive with it.
#include "ir/passes/place.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "schema/checked_math.h"
#include "schema/container.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

struct Spot {
  uint32_t chunk = 0;
  uint64_t offset = 0;
};

class Placer {
 public:
  Placer(Program& program, const DeviceProfile& profile, const PlaceOptions& options)
      : program_(program), limit_(profile.max_allocation_bytes), options_(options) {}

  absl::Status Run() {
    OA_RETURN_IF_ERROR(CheckSizes());
    FindLifetimes();
    PlaceTransients();
    PlaceInSequence(ArenaKind::kPersistent);
    PlaceInSequence(ArenaKind::kIo);
    return absl::OkStatus();
  }

 private:
  PlanBuffer& buffer(uint32_t b) { return program_.buffers[b]; }
  // With the guard before and after it.
  uint64_t Room(uint32_t b) const {
    return AlignUp(program_.buffers[b].size_bytes, kTensorAlignment) + options_.guard_bytes;
  }

  absl::Status CheckSizes() const {
    for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
      const PlanBuffer& buffer = program_.buffers[b];
      if (buffer.size_bytes <= limit_ && Room(b) + options_.guard_bytes <= limit_) continue;
      return absl::ResourceExhaustedError(absl::StrCat(
          BufferKindName(buffer.kind), " '", buffer.name, "' ",
          TypeText(buffer.dtype, buffer.shape), " needs ", buffer.size_bytes,
          " bytes, more than the largest allocation of the device profile (", limit_,
          "); compile for a larger device or split the value"));
    }
    return absl::OkStatus();
  }

  void FindLifetimes() {
    const uint32_t last = program_.stage_count == 0 ? 0 : program_.stage_count - 1;
    touched_.assign(program_.buffers.size(), false);
    for (const Dispatch& dispatch : program_.dispatches) {
      for (const Touch& touch : Touches(dispatch)) {
        PlanBuffer& b = buffer(touch.slice.buffer);
        if (!touched_[touch.slice.buffer]) b.first_stage = b.last_stage = dispatch.stage;
        touched_[touch.slice.buffer] = true;
        b.first_stage = std::min(b.first_stage, dispatch.stage);
        b.last_stage = std::max(b.last_stage, dispatch.stage);
      }
    }
    for (PlanBuffer& b : program_.buffers) {
      if (b.kind == BufferKind::kTransient && options_.reuse_memory) continue;
      b.first_stage = 0;
      b.last_stage = last;
    }
  }

  bool AliveTogether(uint32_t a, uint32_t b) {
    return buffer(a).first_stage <= buffer(b).last_stage &&
           buffer(b).first_stage <= buffer(a).last_stage;
  }

  std::vector<uint32_t> BySize() {
    std::vector<uint32_t> order = Transients();
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return Room(a) > Room(b); });
    return order;
  }

  // Buffers of the stage with most live bytes first, largest first within a stage.
  std::vector<uint32_t> ByBreadth() {
    const std::vector<uint32_t> by_size = BySize();
    std::vector<uint64_t> live(program_.stage_count, 0);
    for (uint32_t b : by_size) {
      for (uint32_t s = buffer(b).first_stage; s <= buffer(b).last_stage; ++s) live[s] += Room(b);
    }
    std::vector<uint32_t> stages(live.size());
    std::iota(stages.begin(), stages.end(), 0);
    std::stable_sort(stages.begin(), stages.end(),
                     [&](uint32_t a, uint32_t b) { return live[a] > live[b]; });
    std::vector<uint32_t> rank(live.size());
    for (uint32_t i = 0; i < stages.size(); ++i) rank[stages[i]] = i;
    auto best_rank = [&](uint32_t b) {
      uint32_t best = rank[buffer(b).first_stage];
      for (uint32_t s = buffer(b).first_stage; s <= buffer(b).last_stage; ++s) {
        best = std::min(best, rank[s]);
      }
      return best;
    };
    std::vector<std::pair<uint32_t, uint32_t>> keyed;
    for (uint32_t b : by_size) keyed.emplace_back(best_rank(b), b);
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint32_t> order;
    for (const auto& entry : keyed) order.push_back(entry.second);
    return order;
  }

  std::vector<uint32_t> Transients() {
    std::vector<uint32_t> transients;
    for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
      if (buffer(b).kind == BufferKind::kTransient && buffer(b).size_bytes != 0 && touched_[b]) {
        transients.push_back(b);
      }
    }
    return transients;
  }

  // First-fit in the given order; `sizes` receives the bytes of each chunk.
  std::vector<Spot> Fit(const std::vector<uint32_t>& order, std::vector<uint64_t>& sizes) {
    std::vector<Spot> spots(program_.buffers.size());
    std::vector<std::vector<uint32_t>> placed;  // by chunk, sorted by offset
    for (uint32_t b : order) {
      for (uint32_t chunk = 0;; ++chunk) {
        if (chunk == placed.size()) {
          placed.emplace_back();
          sizes.push_back(0);
        }
        const uint64_t offset = LowestGap(b, placed[chunk], spots);
        if (offset + Room(b) > limit_) continue;
        spots[b] = {chunk, offset};
        sizes[chunk] = std::max(sizes[chunk], offset + Room(b));
        placed[chunk].insert(std::upper_bound(placed[chunk].begin(), placed[chunk].end(), b,
                                              [&](uint32_t x, uint32_t y) {
                                                return spots[x].offset < spots[y].offset;
                                              }),
                             b);
        break;
      }
    }
    return spots;
  }

  uint64_t LowestGap(uint32_t b, const std::vector<uint32_t>& placed,
                     const std::vector<Spot>& spots) {
    uint64_t offset = options_.guard_bytes;
    for (uint32_t other : placed) {
      if (!AliveTogether(b, other)) continue;
      if (offset + Room(b) <= spots[other].offset) break;
      offset = std::max(offset, spots[other].offset + Room(other));
    }
    return offset;
  }

  static uint64_t Sum(const std::vector<uint64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  }

  void PlaceTransients() {
    std::vector<uint64_t> sizes, other_sizes;
    std::vector<Spot> spots = Fit(BySize(), sizes);
    const std::vector<Spot> other = Fit(ByBreadth(), other_sizes);
    if (Sum(other_sizes) < Sum(sizes)) {
      spots = other;
      sizes = other_sizes;
    }
    // Buffers without bytes or uses still name an arena.
    if (sizes.empty() && HasTransient()) sizes.push_back(0);
    for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
      if (buffer(b).kind != BufferKind::kTransient) continue;
      if (!touched_[b]) buffer(b).size_bytes = 0;
      buffer(b).arena = static_cast<uint32_t>(program_.arenas.size()) + spots[b].chunk;
      buffer(b).offset = spots[b].offset;
    }
    for (uint64_t size : sizes) program_.arenas.push_back({ArenaKind::kTransient, size});
  }

  bool HasTransient() const {
    return std::any_of(program_.buffers.begin(), program_.buffers.end(), [](const PlanBuffer& b) {
      return b.kind == BufferKind::kTransient;
    });
  }

  static ArenaKind KindOf(BufferKind kind) {
    if (kind == BufferKind::kTransient) return ArenaKind::kTransient;
    return IsPersistent(kind) ? ArenaKind::kPersistent : ArenaKind::kIo;
  }

  // One after the other; a new arena where the largest allocation is full.
  void PlaceInSequence(ArenaKind kind) {
    bool open = false;
    for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
      if (KindOf(buffer(b).kind) != kind) continue;
      if (!open || program_.arenas.back().size_bytes + Room(b) > limit_) {
        program_.arenas.push_back({kind, options_.guard_bytes});
        open = true;
      }
      PlanArena& arena = program_.arenas.back();
      buffer(b).arena = static_cast<uint32_t>(program_.arenas.size() - 1);
      buffer(b).offset = buffer(b).size_bytes == 0 ? 0 : arena.size_bytes;
      if (buffer(b).size_bytes != 0) arena.size_bytes += Room(b);
    }
  }

  Program& program_;
  uint64_t limit_;
  PlaceOptions options_;
  std::vector<bool> touched_;  // by buffer: some dispatch uses it
};

}  // namespace

absl::Status Place(Program& program, const DeviceProfile& profile, const PlaceOptions& options) {
  return Placer(program, profile, options).Run();
}

uint64_t TransientPeak(const Program& program) {
  uint64_t bytes = 0;
  for (const PlanArena& arena : program.arenas) {
    if (arena.kind == ArenaKind::kTransient) bytes += arena.size_bytes;
  }
  return bytes;
}

}  // namespace oa::ir
