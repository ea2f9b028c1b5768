// What must hold of a program between passes. A violation is a bug of the compiler.
#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "ir/elementwise_check.h"
#include "ir/kernel_layout.h"
#include "ir/program.h"
#include "schema/checked_math.h"
#include "schema/container.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr uint64_t kSliceAlignment = 16;  // kernels may load 16-byte vectors from a slice's start

// A touch within one stage, by position, for the search for conflicts.
struct StageTouch {
  BufferSlice slice;
  bool write;
  size_t dispatch;
};

class Verifier {
 public:
  Verifier(const Program& program, absl::string_view pass) : program_(program), pass_(pass) {}

  absl::Status Run() {
    for (const PlanBuffer& buffer : program_.buffers) {
      written_.push_back(buffer.kind == BufferKind::kInput || IsPersistent(buffer.kind));
    }
    for (size_t i = 0; i < program_.dispatches.size(); ++i) {
      OA_RETURN_IF_ERROR(CheckForm(i));
      OA_RETURN_IF_ERROR(CheckTouches(i));
    }
    OA_RETURN_IF_ERROR(CheckIo());
    OA_RETURN_IF_ERROR(CheckStages());
    return CheckPlaces();
  }

 private:
  template <class... Args>
  absl::Status Broken(size_t dispatch, const Args&... message) const {
    return absl::InternalError(absl::StrCat("after pass '", pass_, "', dispatch ", dispatch, " (",
                                            program_.dispatches[dispatch].label, ") ", message...));
  }
  template <class... Args>
  absl::Status BrokenBuffer(size_t buffer, const Args&... message) const {
    return absl::InternalError(absl::StrCat("after pass '", pass_, "', buffer ", buffer, " '",
                                            program_.buffers[buffer].name, "' ", message...));
  }

  absl::Status CheckForm(size_t i) const {
    const Dispatch& d = program_.dispatches[i];
    if ((d.kernel != nullptr) == d.elementwise.has_value()) {
      return Broken(i, "is neither a kernel call nor an elementwise program");
    }
    const std::string problem = EwProblem(d);
    if (!problem.empty()) return Broken(i, problem);
    return d.kernel != nullptr ? CheckCall(i) : absl::OkStatus();
  }

  absl::Status CheckCall(size_t i) const {
    const Dispatch& d = program_.dispatches[i];
    const Kernel& kernel = *d.kernel;
    // Pending programs fill the arguments of their blocks later.
    const bool pending = d.prologue || d.epilogue;
    const size_t own = pending ? OwnArgumentCount(kernel) : kernel.arguments.size();
    size_t expected = own;
    const int count = FindArgument(kernel.arguments, "record_count");
    if (!kernel.records.empty() && count >= 0 && d.arguments.size() >= own) {
      expected += d.arguments[count].bits * kernel.records.size();
    }
    if (d.arguments.size() != expected) {
      return Broken(i, "has ", d.arguments.size(), " arguments, kernel '", kernel.name, "' takes ",
                    expected);
    }
    for (size_t a = 0; a < expected; ++a) {
      const KernelArgument& row =
          a < own ? kernel.arguments[a] : kernel.records[(a - own) % kernel.records.size()];
      const bool buffer = row.kind == ArgumentKind::kBuffer;
      if (d.arguments[a].kind != row.kind || (buffer && d.arguments[a].access != row.access)) {
        return Broken(i, "argument ", a, " '", row.name, "' has another kind or access");
      }
    }
    if (d.constants.size() != kernel.constants.size()) {
      return Broken(i, "has ", d.constants.size(), " constants, kernel '", kernel.name, "' takes ",
                    kernel.constants.size());
    }
    return absl::OkStatus();
  }

  absl::Status CheckTouches(size_t i) {
    const std::vector<Touch> touches = Touches(program_.dispatches[i]);
    for (const Touch& touch : touches) {
      const BufferSlice& slice = touch.slice;
      if (slice.buffer >= program_.buffers.size()) return Broken(i, "names no buffer");
      const PlanBuffer& buffer = program_.buffers[slice.buffer];
      const std::optional<uint64_t> end = CheckedAdd(slice.offset, slice.size_bytes);
      if (!end || *end > buffer.size_bytes || slice.offset % kSliceAlignment != 0) {
        return Broken(i, "takes ", slice.size_bytes, " bytes at ", slice.offset, " of the ",
                      buffer.size_bytes, " of buffer ", slice.buffer, " '", buffer.name, "'");
      }
      if (Reads(touch.access) && !written_[slice.buffer]) {
        return Broken(i, "reads buffer ", slice.buffer, " '", buffer.name,
                      "' before anything has written it");
      }
      if (!Writes(touch.access)) continue;
      if (buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kConstant) {
        return Broken(i, "writes the ", BufferKindName(buffer.kind), " buffer ", slice.buffer, " '",
                      buffer.name, "'");
      }
    }
    for (const Touch& touch : touches) {
      if (Writes(touch.access)) written_[touch.slice.buffer] = true;
    }
    return absl::OkStatus();
  }

  absl::Status CheckIo() const {
    for (const PlanIo& output : program_.outputs) {
      if (program_.buffers[output.buffer].size_bytes > 0 && !written_[output.buffer]) {
        return BrokenBuffer(output.buffer, "is an output that nothing writes");
      }
    }
    return absl::OkStatus();
  }

  // Dispatches are sorted by stage and no two of one stage conflict.
  absl::Status CheckStages() const {
    if (program_.stage_count == 0) return absl::OkStatus();
    std::vector<StageTouch> touches;
    for (size_t i = 0; i < program_.dispatches.size(); ++i) {
      const uint32_t stage = program_.dispatches[i].stage;
      const uint32_t before = i > 0 ? program_.dispatches[i - 1].stage : stage;
      if (stage < before || stage >= program_.stage_count) {
        return Broken(i, "is in stage ", stage, " of ", program_.stage_count,
                      " behind one of stage ", before);
      }
      if (stage != before) {
        OA_RETURN_IF_ERROR(CheckConflicts(touches));
        touches.clear();
      }
      for (const Touch& touch : Touches(program_.dispatches[i])) {
        touches.push_back({touch.slice, Writes(touch.access), i});
      }
    }
    return CheckConflicts(touches);
  }

  // Sweeps over the bytes of each buffer. Only the ranges that reach beyond the start of the
  // current one matter; they are few, because disjoint parts of a buffer leave the window.
  absl::Status CheckConflicts(std::vector<StageTouch>& touches) const {
    std::stable_sort(touches.begin(), touches.end(), [](const auto& a, const auto& b) {
      return std::tie(a.slice.buffer, a.slice.offset) < std::tie(b.slice.buffer, b.slice.offset);
    });
    std::vector<const StageTouch*> writers, readers;
    for (const StageTouch& touch : touches) {
      const auto gone = [&](const StageTouch* t) { return !Overlap(t->slice, touch.slice); };
      writers.erase(std::remove_if(writers.begin(), writers.end(), gone), writers.end());
      // Any number of dispatches may read the same bytes: that list is pruned only when needed.
      if (touch.write) {
        readers.erase(std::remove_if(readers.begin(), readers.end(), gone), readers.end());
      }
      for (const auto* list : {&writers, &readers}) {
        if (list == &readers && !touch.write) continue;
        for (const StageTouch* other : *list) {
          if (other->dispatch == touch.dispatch) continue;
          return Broken(touch.dispatch, "conflicts with dispatch ", other->dispatch,
                        " of its stage over buffer ", touch.slice.buffer);
        }
      }
      (touch.write ? writers : readers).push_back(&touch);
    }
    return absl::OkStatus();
  }

  // Places are inside their arenas and disjoint while alive.
  absl::Status CheckPlaces() const {
    if (program_.arenas.empty()) return absl::OkStatus();
    std::map<uint32_t, std::vector<uint32_t>> by_arena;
    for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
      const PlanBuffer& buffer = program_.buffers[b];
      const uint64_t end = buffer.offset + AlignUp(buffer.size_bytes, kTensorAlignment);
      if (buffer.arena >= program_.arenas.size() ||
          end > program_.arenas[buffer.arena].size_bytes) {
        return BrokenBuffer(b, "lies outside its arena");
      }
      if (buffer.size_bytes > 0) by_arena[buffer.arena].push_back(b);
    }
    for (auto& [arena, members] : by_arena) OA_RETURN_IF_ERROR(CheckDisjoint(members));
    return absl::OkStatus();
  }

  // Starts are visited in order of stage; what is alive is kept in order of offset, so that a new
  // buffer can only overlap its two neighbours.
  absl::Status CheckDisjoint(std::vector<uint32_t>& members) const {
    const auto& buffers = program_.buffers;
    std::vector<uint32_t> by_end = members;
    std::stable_sort(members.begin(), members.end(), [&](uint32_t a, uint32_t b) {
      return buffers[a].first_stage < buffers[b].first_stage;
    });
    std::stable_sort(by_end.begin(), by_end.end(), [&](uint32_t a, uint32_t b) {
      return buffers[a].last_stage < buffers[b].last_stage;
    });
    std::map<uint64_t, uint32_t> alive;  // by offset
    size_t ended = 0;
    for (uint32_t b : members) {
      for (; buffers[by_end[ended]].last_stage < buffers[b].first_stage; ++ended) {
        alive.erase(buffers[by_end[ended]].offset);
      }
      const auto [place, inserted] = alive.emplace(buffers[b].offset, b);
      const auto next = std::next(place);
      const bool before =
          inserted && place != alive.begin() && Reaches(std::prev(place)->second, b);
      const bool after = inserted && next != alive.end() && Reaches(b, next->second);
      if (!inserted || before || after) {
        return BrokenBuffer(b, "overlaps another buffer of arena ", buffers[b].arena,
                            " that is alive in stage ", buffers[b].first_stage);
      }
    }
    return absl::OkStatus();
  }

  bool Reaches(uint32_t left, uint32_t right) const {
    const PlanBuffer& a = program_.buffers[left];
    return a.offset + AlignUp(a.size_bytes, kTensorAlignment) > program_.buffers[right].offset;
  }

  const Program& program_;
  absl::string_view pass_;
  std::vector<bool> written_;
};

}  // namespace

absl::Status VerifyProgram(const Program& program, absl::string_view after_pass) {
  return Verifier(program, after_pass).Run();
}

}  // namespace oa::ir
