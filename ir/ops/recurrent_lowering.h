// Dispatches of the recurrent family. A cell is a product and a pointwise kernel. A scan takes one
// of three routes:
//   scan      one kernel loops over the steps, a workgroup a batch element
//   steps     one kernel a step, product included, over the whole device
//   products  the dispatches of a cell a step
// Internal to ir/ops.
#ifndef OA_IR_OPS_RECURRENT_LOWERING_H_
#define OA_IR_OPS_RECURRENT_LOWERING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/lower.h"

namespace oa::ir {

// Extents and operands; those an operator does not have stay empty.
struct Recurrence {
  bool gru = false;
  uint64_t batch = 1, steps = 1, hidden = 1;
  BufferSlice gates_i, weight, bias;
  BufferSlice initial;  // [batch, hidden]: the state a cell starts from; empty for scans
  BufferSlice states;   // [batch, steps, hidden]: the result

  uint64_t width() const { return (gru ? 3 : 1) * hidden; }
  uint64_t weights() const { return width() * hidden; }
};

struct RecurrenceGradients {
  BufferSlice g;  // of the states
  // Of the operands; empty: not wanted.
  BufferSlice gates_i, initial, weight, bias;
};

absl::Status EmitCell(LowerContext& ctx, const Recurrence& r);
absl::Status EmitCellBackward(LowerContext& ctx, const Recurrence& r, const RecurrenceGradients& d);
// recurrent_scan.cc
absl::Status EmitScan(LowerContext& ctx, const Recurrence& r);
absl::Status EmitScanBackward(LowerContext& ctx, const Recurrence& r, const RecurrenceGradients& d);

// OpDef::routes and OpDef::kernels of the rows.
std::vector<std::string> ScanRoutes();
std::vector<std::string> CellKernels();
std::vector<std::string> CellBackwardKernels();
std::vector<std::string> ScanKernels();
std::vector<std::string> ScanBackwardKernels();

// ---- Pieces that cells and scans share ----

inline bool Present(const BufferSlice& slice) { return slice.size_bytes != 0; }

// Scratch of one state a batch element.
BufferSlice StateScratch(LowerContext& ctx, const Recurrence& r, const char* name);

// projection[row] = weight_hh @ states[row] + bias, for `rows` states.
absl::Status EmitProjection(LowerContext& ctx, const Recurrence& r, BufferSlice states,
                            uint64_t rows, BufferSlice projection);

// out = dp @ weight_hh, of one step.
absl::Status EmitSendBack(LowerContext& ctx, const Recurrence& r, BufferSlice dp, BufferSlice out);

// dweight = dp^T @ before, dbias = sum of dp, over all steps.
absl::Status EmitParameters(LowerContext& ctx, const Recurrence& r, BufferSlice dp,
                            BufferSlice before, const RecurrenceGradients& d);

// One step forwards, kernels/recurrent/gates.comp; empty slices are what it does without.
struct GatesCall {
  uint64_t step = 0;
  BufferSlice projection, state, next;
};
absl::Status EmitGates(LowerContext& ctx, const Recurrence& r, const GatesCall& gates);

// One step backwards, kernels/recurrent/gates_backward.comp; empty slices are what it does without.
struct GatesBackwardCall {
  uint64_t step = 0;
  BufferSlice g, carry, direct, projection, before;
  BufferSlice di, dp, dp_step;
};
absl::Status EmitGatesBackward(LowerContext& ctx, const Recurrence& r,
                               const GatesBackwardCall& gates);

// What the steps of an adjoint have in common, with scratch where no result serves. `before` is the
// state before each step; the GRU's projections are computed again from it.
absl::StatusOr<GatesBackwardCall> BeginBackward(LowerContext& ctx, const Recurrence& r,
                                                const RecurrenceGradients& d, BufferSlice before);

}  // namespace oa::ir

#endif  // OA_IR_OPS_RECURRENT_LOWERING_H_
