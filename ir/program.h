// Program: the compiler's one in-memory IR after lowering: buffers and an ordered list of
// dispatches. Passes are functions over it; each can be dumped and is followed by VerifyProgram.
#ifndef OA_IR_PROGRAM_H_
#define OA_IR_PROGRAM_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/elementwise.h"
#include "ir/graph.h"
#include "ir/grid.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::ir {

struct Argument {
  ArgumentKind kind = ArgumentKind::kBuffer;
  BufferSlice slice;               // kBuffer; size 0 binds the null address
  Access access = Access::kRead;   // kBuffer
  uint32_t bits = 0;               // kU32, kF32
};

// One kernel invocation over a grid. Exactly one of two forms:
//  * symbolic: `elementwise` is set and `kernel` is null. Fusion merges these; FinishElementwise
//    turns each into the other form.
//  * concrete: `kernel` and `arguments`. `prologue` and `epilogue` are set on kernels that have
//    them (arguments are then completed by FinishElementwise too).
struct Dispatch {
  const Kernel* kernel = nullptr;
  std::vector<Argument> arguments;  // of the kernel, then of its records, flattened
  std::vector<uint32_t> constants;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::optional<EwProgram> elementwise;
  // Elementwise program that makes the kernel's operand. Output 0 is that operand, a register (its
  // slice is null); further outputs are stored besides. The trivial one is input 0.
  std::optional<EwProgram> prologue;
  // Elementwise program applied to the kernel's main result before it is stored. Input 0 is that
  // result (its slice is unused); the program's outputs replace the kernel's own. Always set by
  // lowerings of kernels that support epilogues; the trivial one stores register 0.
  std::optional<EwProgram> epilogue;
  std::string label;              // operators it computes, "+"-joined
  std::vector<uint32_t> nodes;    // graph nodes it came from
  uint64_t flops = 0;
  LoopCost loops;                 // of multi-tensor kernels, whose calls may be joined
  uint32_t stage = 0;             // set by the schedule pass
};

// True when the two have a byte in common.
bool Overlap(const BufferSlice& a, const BufferSlice& b);
// True when the two are the same bytes.
bool SameBytes(const BufferSlice& a, const BufferSlice& b);

// What a dispatch reads or writes.
struct Touch {
  BufferSlice slice;
  Access access;
};
// All byte ranges of the dispatch, symbolic parts included; empty slices are left out.
std::vector<Touch> Touches(const Dispatch& dispatch);
// Bytes moved; a slice that appears twice counts once, because the caches serve the second access.
uint64_t BytesRead(const Dispatch& dispatch);
uint64_t BytesWritten(const Dispatch& dispatch);

// True when the two must keep their order: a byte one writes is touched by the other.
bool Conflicts(const Dispatch& a, const Dispatch& b);

// PlanBuffer is used as it is: place and lifetime are filled by the place pass.
struct Program {
  std::string name;
  uint64_t graph_identity = 0;
  std::vector<PlanBuffer> buffers;
  std::vector<Dispatch> dispatches;  // executing them in this order is always right
  uint32_t stage_count = 0;          // 0 before the schedule pass
  std::vector<PlanArena> arenas;     // empty before the place pass
  std::vector<PlanIo> inputs;
  std::vector<PlanIo> outputs;
};

// Removes transients that no dispatch touches and renumbers the rest.
void DropUnusedTransients(Program& program);

// Internal (our bug) naming dispatch and pass: slices in range and aligned, arguments match the
// kernel, elementwise programs well-formed and free of races, only writable buffers written,
// transients written before read, stages ordered and free of conflicts once scheduled, placements
// disjoint once placed.
absl::Status VerifyProgram(const Program& program, absl::string_view after_pass);

// One line a dispatch; stable.
std::string DumpProgram(const Program& program);

}  // namespace oa::ir

#endif  // OA_IR_PROGRAM_H_
