// Transients share memory with others whose stages do not meet theirs (packing.h); persistent and
// io buffers stand one behind the other. Each kind has its own arenas, as many as the largest
// allocation of the device makes necessary.
#include "ir/passes/place.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/passes/packing.h"
#include "schema/checked_math.h"
#include "schema/container.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr ArenaKind kArenaKinds[] = {ArenaKind::kTransient, ArenaKind::kPersistent, ArenaKind::kIo};

ArenaKind ArenaFor(BufferKind kind) {
  if (kind == BufferKind::kTransient) return ArenaKind::kTransient;
  return IsPersistent(kind) ? ArenaKind::kPersistent : ArenaKind::kIo;
}

void SetLifetimes(Program& program) {
  const uint32_t last_stage = program.stage_count > 0 ? program.stage_count - 1 : 0;
  for (PlanBuffer& buffer : program.buffers) {
    const bool transient = buffer.kind == BufferKind::kTransient;
    buffer.first_stage = transient ? last_stage : 0;
    buffer.last_stage = transient ? 0 : last_stage;
  }
  for (const Dispatch& dispatch : program.dispatches) {
    for (const Touch& touch : Touches(dispatch)) {
      PlanBuffer& buffer = program.buffers[touch.slice.buffer];
      buffer.first_stage = std::min(buffer.first_stage, dispatch.stage);
      buffer.last_stage = std::max(buffer.last_stage, dispatch.stage);
    }
  }
  // Nothing touches them, but a lifetime must not end before it begins.
  for (PlanBuffer& buffer : program.buffers) {
    if (buffer.first_stage > buffer.last_stage) buffer.last_stage = buffer.first_stage;
  }
}

absl::Status CheckFits(const PlanBuffer& buffer, uint64_t bytes, uint64_t limit,
                       const DeviceProfile& profile) {
  if (bytes <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("'", buffer.name, "' ", TypeText(buffer.dtype, buffer.shape), " needs ", bytes,
                   " bytes, the largest allocation of the device '", profile.name, "' is ", limit,
                   "; split the value or use smaller batches"));
}

class Placer {
 public:
  Placer(Program& program, const DeviceProfile& profile, const PlaceOptions& options)
      : program_(program),
        profile_(profile),
        options_(options),
        limit_(profile.max_allocation_bytes & ~(kTensorAlignment - 1)) {}

  absl::Status Run() {
    program_.arenas.clear();
    for (ArenaKind kind : kArenaKinds) OA_RETURN_IF_ERROR(PlaceKind(kind));
    return absl::OkStatus();
  }

 private:
  absl::Status PlaceKind(ArenaKind kind) {
    std::vector<uint32_t> members;
    std::vector<PackItem> items;
    bool any = false;
    for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
      PlanBuffer& buffer = program_.buffers[b];
      if (ArenaFor(buffer.kind) != kind) continue;
      any = true;
      // An empty buffer takes no room but has to name an arena of its kind.
      buffer.arena = static_cast<uint32_t>(program_.arenas.size());
      buffer.offset = 0;
      if (buffer.size_bytes == 0) continue;
      const bool padded_fits = buffer.size_bytes <= limit_;
      const uint64_t bytes =
          padded_fits ? AlignUp(buffer.size_bytes, kTensorAlignment) + options_.guard_bytes
                      : buffer.size_bytes;
      OA_RETURN_IF_ERROR(CheckFits(buffer, bytes, limit_, profile_));
      members.push_back(b);
      items.push_back({bytes, buffer.first_stage, buffer.last_stage});
    }
    const bool share = kind == ArenaKind::kTransient && options_.reuse_memory;
    Packing packing = share ? PackByLifetime(items, limit_) : PackInOrder(items, limit_);
    if (any && packing.chunk_bytes.empty()) packing.chunk_bytes.push_back(0);
    const auto base = static_cast<uint32_t>(program_.arenas.size());
    for (uint64_t bytes : packing.chunk_bytes) program_.arenas.push_back({kind, bytes});
    for (size_t i = 0; i < members.size(); ++i) {
      program_.buffers[members[i]].arena = base + packing.places[i].chunk;
      program_.buffers[members[i]].offset = packing.places[i].offset;
    }
    return absl::OkStatus();
  }

  Program& program_;
  const DeviceProfile& profile_;
  const PlaceOptions& options_;
  const uint64_t limit_;
};

}  // namespace

absl::Status Place(Program& program, const DeviceProfile& profile, const PlaceOptions& options) {
  SetLifetimes(program);
  return Placer(program, profile, options).Run();
}

uint64_t TransientBytes(const Program& program) {
  uint64_t bytes = 0;
  for (const PlanArena& arena : program.arenas) {
    if (arena.kind == ArenaKind::kTransient) bytes += arena.size_bytes;
  }
  return bytes;
}

}  // namespace oa::ir
