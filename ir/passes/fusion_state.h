// What the fusion rules share: which dispatches are left, who touches a buffer, and whether a
// dispatch may move. Internal to ir/passes/.
#ifndef OA_IR_PASSES_FUSION_STATE_H_
#define OA_IR_PASSES_FUSION_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/compile.h"
#include "ir/program.h"

namespace oa::ir {

class FusionState {
 public:
  explicit FusionState(Program& program);

  Program& program() { return program_; }
  uint32_t size() const { return static_cast<uint32_t>(program_.dispatches.size()); }
  bool alive(uint32_t d) const { return alive_[d]; }
  Dispatch& at(uint32_t d) { return program_.dispatches[d]; }

  // The last dispatch before `d` that writes a byte of `slice`; nullopt when there is none.
  std::optional<uint32_t> WriterBefore(uint32_t d, const BufferSlice& slice) const;

  // Whether some dispatch other than `a` and `b`, or the host, sees the bytes of `slice` as `a`
  // wrote them: they must then still be stored. Conservative.
  bool NeededBeyond(uint32_t a, uint32_t b, const BufferSlice& slice) const;

  // Whether the dispatches at `first` < `second` may become one at the place of `first` or, failing
  // that, of `second`: no dispatch between conflicts with the one that moves.
  std::optional<uint32_t> MeetingPlace(uint32_t first, uint32_t second) const;

  // Puts `merged` at `place` (which is `first` or `second`) and removes the other; joins labels,
  // nodes and flops, and notes the fusion.
  void Replace(uint32_t first, uint32_t second, uint32_t place, Dispatch merged, const char* rule);

  // Dispatches that touch buffer `b`, in order; dead ones included.
  const std::vector<uint32_t>& Touching(uint32_t b) const { return touching_[b]; }

  // Removes the dead dispatches and the transients nobody uses any more.
  std::vector<FusionNote> Finish();

 private:
  void Index(uint32_t d);
  bool CanMove(uint32_t from, uint32_t to) const;

  Program& program_;
  std::vector<bool> alive_;
  std::vector<std::vector<uint32_t>> touching_;  // by buffer, sorted
  std::vector<FusionNote> notes_;
};

bool SameSlice(const BufferSlice& a, const BufferSlice& b);
bool SlicesOverlap(const BufferSlice& a, const BufferSlice& b);

// Limits of the machine a merged program must fit.
struct ProgramLimits {
  size_t inputs, outputs, slots;
  bool strided;
};
inline constexpr ProgramLimits kElementwiseLimits = {OA_EW_MAX_INPUTS, OA_EW_MAX_OUTPUTS,
                                                     OA_EW_MAX_SLOTS, true};
inline constexpr ProgramLimits kEpilogueLimits = {OA_EPILOGUE_MAX_INPUTS, OA_EPILOGUE_MAX_OUTPUTS,
                                                  OA_EPILOGUE_MAX_SLOTS, false};

// `first` followed by `second`. Linear inputs of `second` that are outputs of `first` become
// registers. `keep` says for each output of `first` whether it is still stored. `accumulator`:
// input 0 of `first` is a register of its own (an epilogue). nullopt when the result would not fit
// or would read an element after another invocation may have overwritten it.
std::optional<EwProgram> ConcatPrograms(const EwProgram& first, const EwProgram& second,
                                        const std::vector<bool>& keep, bool accumulator,
                                        const ProgramLimits& limits);

// The rules; each returns whether it changed anything.
bool FuseChains(FusionState& state);     // fuse_chain.cc
bool FuseEpilogues(FusionState& state);  // fuse_epilogue.cc
bool FuseSiblings(FusionState& state);   // fuse_sibling.cc
bool FuseRecords(FusionState& state);    // fuse_records.cc

}  // namespace oa::ir

#endif  // OA_IR_PASSES_FUSION_STATE_H_
