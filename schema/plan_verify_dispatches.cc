// Proves that no dispatch leaves its buffers and that nothing inside a stage depends on order.
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "schema/plan_verify.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

// Kernels may load 16-byte vectors from the start of any slice.
constexpr uint64_t kSliceAlignment = 16;

bool IsWritable(BufferKind kind) {
  return kind != BufferKind::kInput && kind != BufferKind::kConstant;
}

// The farthest end of a byte range seen so far and the farthest of another dispatch, so that the
// farthest end among "all dispatches but this one" is known without searching.
class Reach {
 public:
  void Add(uint64_t end, uint32_t dispatch) {
    if (dispatch == best_.dispatch) {
      best_.end = std::max(best_.end, end);
    } else if (end > best_.end) {
      second_ = best_;
      best_ = {end, dispatch};
    } else if (end > second_.end) {
      second_ = {end, dispatch};
    }
  }
  // The other dispatch that reaches beyond `start`.
  std::optional<uint32_t> Beyond(uint64_t start, uint32_t dispatch) const {
    const Entry& entry = best_.dispatch != dispatch ? best_ : second_;
    if (entry.end > start) return entry.dispatch;
    return std::nullopt;
  }

 private:
  struct Entry {
    uint64_t end = 0;
    uint32_t dispatch = UINT32_MAX;
  };
  Entry best_;
  Entry second_;
};

struct Touch {
  uint32_t buffer;
  uint64_t begin;
  uint64_t end;
  uint32_t dispatch;
  bool write;
};

class DispatchVerifier {
 public:
  DispatchVerifier(const Plan& plan, const std::string& file) : plan_(plan), file_(file) {}

  absl::Status Run() const {
    // Transient and output buffers that an earlier stage has written.
    std::vector<bool> written(plan_.buffers.size());
    std::vector<Touch> touches;
    for (uint32_t s = 0; s < plan_.stages.size(); ++s) {
      const PlanStage& stage = plan_.stages[s];
      touches.clear();
      for (uint32_t k = 0; k < stage.dispatch_count; ++k) {
        OA_RETURN_IF_ERROR(CheckDispatch(stage.first_dispatch + k, s, written, touches));
      }
      OA_RETURN_IF_ERROR(CheckConflicts(touches));
      for (const Touch& touch : touches) {
        if (touch.write) written[touch.buffer] = true;
      }
    }
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const uint32_t buffer = plan_.outputs[i].buffer;
      if (plan_.buffers[buffer].size_bytes > 0 && !written[buffer]) {
        return Bad("outputs", i, "'", plan_.outputs[i].name, "' is never written");
      }
    }
    return absl::OkStatus();
  }

 private:
  // An error about element `index` of `table`.
  template <class... Parts>
  absl::Status Bad(absl::string_view table, size_t index, const Parts&... parts) const {
    return absl::DataLossError(
        absl::StrCat("'", file_, "': ", table, "[", index, "] ", parts..., "."));
  }
  absl::Status CheckDispatch(uint32_t i, uint32_t stage, const std::vector<bool>& written,
                             std::vector<Touch>& touches) const {
    const PlanDispatch& d = plan_.dispatches[i];
    if (d.kernel >= plan_.kernels.size()) {
      return Bad("dispatches", i, "names kernel ", d.kernel, " of ", plan_.kernels.size());
    }
    for (uint32_t groups : d.grid) {
      if (groups == 0) return Bad("dispatches", i, "has a grid axis of 0 workgroups");
    }
    for (size_t k = 0; k < d.arguments.size(); ++k) {
      const PlanArgument& a = d.arguments[k];
      if (a.kind > ArgumentKind::kF32 || a.access > Access::kReadWrite) {
        return Bad("dispatches", i, "argument ", k, " has an unknown kind or access");
      }
      if (a.kind != ArgumentKind::kBuffer || a.size_bytes == 0) continue;
      OA_RETURN_IF_ERROR(CheckSlice(i, k));
      OA_RETURN_IF_ERROR(CheckUse(i, k, stage, written[a.buffer]));
      touches.push_back({a.buffer, a.offset, a.offset + a.size_bytes, i, Writes(a.access)});
    }
    return absl::OkStatus();
  }

  absl::Status CheckSlice(uint32_t dispatch, size_t argument) const {
    const PlanArgument& a = plan_.dispatches[dispatch].arguments[argument];
    if (a.buffer >= plan_.buffers.size()) {
      return Bad("dispatches", dispatch, "argument ", argument, " names buffer ", a.buffer, " of ",
                 plan_.buffers.size());
    }
    if (a.offset % kSliceAlignment != 0) {
      return Bad("dispatches", dispatch, "argument ", argument, " starts at byte ", a.offset,
                 ", not a multiple of ", kSliceAlignment);
    }
    const uint64_t size = plan_.buffers[a.buffer].size_bytes;
    if (a.offset > size || a.size_bytes > size - a.offset) {
      return Bad("dispatches", dispatch, "argument ", argument, " takes ", a.size_bytes,
                 " bytes at ", a.offset, " of the ", size, " bytes of buffer ", a.buffer, " '",
                 plan_.buffers[a.buffer].name, "'");
    }
    return absl::OkStatus();
  }

  absl::Status CheckUse(uint32_t dispatch, size_t argument, uint32_t stage, bool written) const {
    const PlanArgument& a = plan_.dispatches[dispatch].arguments[argument];
    const PlanBuffer& b = plan_.buffers[a.buffer];
    const auto bad = [&](absl::string_view what) {
      return Bad("dispatches", dispatch, "argument ", argument, " ", what, " ",
                 BufferKindName(b.kind), " buffer ", a.buffer, " '", b.name, "' in stage ", stage);
    };
    if (Writes(a.access) && !IsWritable(b.kind)) return bad("writes");
    if (b.kind == BufferKind::kTransient && (stage < b.first_stage || stage > b.last_stage)) {
      return bad("uses, outside its lifetime,");
    }
    const bool starts_undefined = b.kind == BufferKind::kTransient || b.kind == BufferKind::kOutput;
    if (Reads(a.access) && starts_undefined && !written) {
      return bad("reads, before an earlier stage wrote it,");
    }
    return absl::OkStatus();
  }

  absl::Status CheckConflicts(std::vector<Touch>& touches) const {
    std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
      return std::tie(a.buffer, a.begin, a.dispatch) < std::tie(b.buffer, b.begin, b.dispatch);
    });
    Reach any;
    Reach writes;
    for (size_t i = 0; i < touches.size(); ++i) {
      const Touch& t = touches[i];
      if (i > 0 && touches[i - 1].buffer != t.buffer) any = writes = Reach();
      const std::optional<uint32_t> other = (t.write ? any : writes).Beyond(t.begin, t.dispatch);
      if (other) {
        return Bad("dispatches", std::max(*other, t.dispatch), "conflicts with dispatches[",
                   std::min(*other, t.dispatch), "] of its stage over buffer ", t.buffer, " '",
                   plan_.buffers[t.buffer].name, "'");
      }
      any.Add(t.end, t.dispatch);
      if (t.write) writes.Add(t.end, t.dispatch);
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  const std::string& file_;
};

}  // namespace

absl::Status VerifyDispatches(const Plan& plan, const std::string& file) {
  return DispatchVerifier(plan, file).Run();
}

}  // namespace oa
