// FusionState: the dispatches of a program while fusion rules combine them, and the questions every
// rule asks: who made this value, who else needs it, can these two run at one place?
//
// Positions are indices into the original list. A combination takes the place of one of its two
// parts and the other position is empty from then on, so that positions stay valid.
#ifndef OA_IR_PASSES_FUSION_STATE_H_
#define OA_IR_PASSES_FUSION_STATE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/compile.h"
#include "ir/program.h"

namespace oa::ir {

class FusionState {
 public:
  // Takes the dispatches out of `program` until Finish, and keeps a reference to it.
  explicit FusionState(Program& program);

  uint32_t size() const { return static_cast<uint32_t>(dispatches_.size()); }
  bool alive(uint32_t position) const { return alive_[position]; }
  const Dispatch& at(uint32_t position) const { return dispatches_[position]; }

  // The last dispatch in front of `position` that writes a byte of `slice`.
  std::optional<uint32_t> LastWriter(const BufferSlice& slice, uint32_t position) const;

  // Whether anything but `reader` sees what `writer` wrote to `slice`: a later dispatch, the host,
  // or the next replay. Not if it is overwritten before.
  bool NeededElsewhere(uint32_t writer, const BufferSlice& slice, uint32_t reader) const;

  // Whether running `producer` together with `consumer` could lengthen the critical path for others
  // that wait for it: something else that `consumer` reads is there only later.
  bool DelaysOthers(uint32_t producer, uint32_t consumer) const;

  // Where both can run as one without passing a dispatch they conflict with: preferably at the
  // second one, else at the first one. Pre-condition: first < second.
  std::optional<uint32_t> MeetingPoint(uint32_t first, uint32_t second) const;

  // Positions in front of `position` that touch `buffer`, nearest first, at most `limit`.
  std::vector<uint32_t> NearestUsers(uint32_t buffer, uint32_t position, size_t limit) const;

  // Depth in the dependency graph. Exact after UpdateLevels; Replace keeps it a good estimate.
  uint32_t level(uint32_t position) const { return levels_[position]; }
  void UpdateLevels();

  // Puts `combined` at `place` (first or second) instead of both. Label, nodes, flops and the note
  // are derived from the parts.
  void Replace(uint32_t first, uint32_t second, uint32_t place, Dispatch combined,
               const char* rule);
  // Gives the dispatch another label.
  void Rename(uint32_t position, std::string label) { dispatches_[position].label = label; }

  // Hands the dispatches back in order, without buffers that nothing uses any more.
  std::vector<FusionNote> Finish();

 private:
  // What fusion did to a dispatch so far.
  struct History {
    std::vector<std::string> rules;  // without repetition
    uint64_t bytes_saved = 0;
  };

  bool CanMove(uint32_t from, uint32_t to) const;
  uint32_t LevelFromNeighbours(uint32_t position) const;
  void Register(uint32_t position);
  void Unregister(uint32_t position);

  Program& program_;
  std::vector<Dispatch> dispatches_;
  std::vector<bool> alive_;
  std::vector<uint32_t> levels_;
  std::vector<History> histories_;
  std::vector<std::vector<Touch>> touches_;
  // By buffer: positions that touch and that write it.
  std::vector<std::set<uint32_t>> users_;
  std::vector<std::set<uint32_t>> writers_;
};

}  // namespace oa::ir

#endif  // OA_IR_PASSES_FUSION_STATE_H_
