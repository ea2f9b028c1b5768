// Dispatches of the recurrent family. A cell is a product and a pointwise kernel. A scan is one
// kernel that loops over the steps, a workgroup a batch element; where the weight is too large for
// that each step has dispatches of its own: one fused kernel on GPUs, those of a cell on CPU
// devices. Internal to ir/ops.
#ifndef OA_IR_OPS_RECURRENT_LOWERING_H_
#define OA_IR_OPS_RECURRENT_LOWERING_H_

#include <cstdint>

#include "absl/status/status.h"
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
};

struct RecurrenceGradients {
  BufferSlice g;  // of the states
  // Of the operands; empty: not wanted.
  BufferSlice gates_i, initial, weight, bias;
};

absl::Status EmitCell(LowerContext& ctx, const Recurrence& r);
absl::Status EmitScan(LowerContext& ctx, const Recurrence& r);
absl::Status EmitCellBackward(LowerContext& ctx, const Recurrence& r, const RecurrenceGradients& d);
absl::Status EmitScanBackward(LowerContext& ctx, const Recurrence& r, const RecurrenceGradients& d);

}  // namespace oa::ir

#endif  // OA_IR_OPS_RECURRENT_LOWERING_H_
