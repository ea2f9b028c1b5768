// Elementwise programs: short SSA sequences that one precompiled kernel executes per element.
// The sequence reaches the kernel as specialisation constants, so the driver folds the dispatch on
// the opcode away and no run-time compiler is needed. Pure data and pure functions.
#ifndef OA_IR_ELEMENTWISE_H_
#define OA_IR_ELEMENTWISE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/common/elementwise_opcodes.h"
#include "schema/dtype.h"

namespace oa::ir {

// A byte range of a program buffer (ir/program.h).
struct BufferSlice {
  uint32_t buffer = 0;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

// One value read by the program.
struct EwInput {
  BufferSlice slice;
  uint8_t type = OA_EW_TYPE_F32;
  uint8_t mode = OA_EW_LINEAR;
  uint32_t div = 1;    // OA_EW_PERIODIC
  uint32_t mod = 1;    // OA_EW_PERIODIC
  uint64_t count = 0;  // elements in the slice
  std::vector<uint32_t>
      strides;  // OA_EW_STRIDED: one per axis of EwProgram::extents, 0 = broadcast
};

// Registers: 0 .. inputs-1 are the inputs, inputs + k is the result of instruction k.
struct EwInstruction {
  uint8_t op = OA_EW_COPY;
  uint8_t a = 0;
  uint8_t b = 0;
  float scalar = 0;
};

struct EwOutput {
  uint8_t reg = 0;
  BufferSlice slice;  // F32, count elements, linear
};

struct EwProgram {
  uint64_t count = 0;             // elements of every output
  std::vector<uint32_t> extents;  // only when an input is OA_EW_STRIDED
  std::vector<EwInput> inputs;
  std::vector<EwInstruction> code;
  std::vector<EwOutput> outputs;

  bool strided() const { return !extents.empty(); }
};

// The input of `shape` broadcast to `out_shape` (NumPy rules; already validated), in the cheapest
// mode that expresses it: linear, scalar, periodic, else strided (then the program's extents must
// be out_shape).
EwInput BroadcastInput(BufferSlice slice, DType dtype, absl::Span<const uint64_t> shape,
                       absl::Span<const uint64_t> out_shape);

// Number of register operands the opcode reads (1 or 2).
int EwArity(uint8_t op);
// "silu", "mul", ...
const char* EwName(uint8_t op);
// Approximate floating-point operations per element.
uint32_t EwFlops(uint8_t op);
// Whether a prologue can execute the opcode: at most four operations, because a kernel makes its
// operand anew each time it reads it.
bool EwIsCheap(uint8_t op);

// "t0 = silu(in0); t1 = mul(t0, in1); out0 = t1".
std::string EwText(const EwProgram& program);

// A program being built: the usual way lowerings write one.
//   EwBuilder b(count);
//   auto x = b.Input(...); auto y = b.Op(OA_EW_SILU, x); b.Output(y, slice);
// Register numbers are resolved by Build, so inputs may be added at any time.
class EwBuilder {
 public:
  // Opaque handle of an input or an instruction result.
  struct Reg {
    bool is_input;
    int index;
  };

  explicit EwBuilder(uint64_t count, absl::Span<const uint64_t> out_shape = {});
  Reg Input(EwInput input);
  Reg Op(uint8_t op, Reg a, float scalar = 0);
  Reg Op2(uint8_t op, Reg a, Reg b, float scalar = 0);
  void Output(Reg reg, BufferSlice slice);
  EwProgram Build() const;

 private:
  struct Pending {
    uint8_t op;
    Reg a, b;
    float scalar;
  };
  uint64_t count_;
  std::vector<uint32_t> extents_;
  std::vector<EwInput> inputs_;
  std::vector<Pending> code_;
  std::vector<std::pair<Reg, BufferSlice>> outputs_;
};

}  // namespace oa::ir

#endif  // OA_IR_ELEMENTWISE_H_
