// LowerContext: what an operator row's Lower function uses to emit dispatches.
#ifndef OA_IR_LOWER_H_
#define OA_IR_LOWER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/graph.h"
#include "ir/grid.h"
#include "ir/op.h"
#include "ir/program.h"

namespace oa::ir {

// A kernel call under construction. Arguments are added in the order of the kernel's manifest row;
// LowerContext::Emit checks number and kinds.
class KernelCall {
 public:
  explicit KernelCall(const Kernel* kernel) : kernel_(kernel) {}

  KernelCall& Buffer(BufferSlice slice);
  KernelCall& NullBuffer() { return Buffer(BufferSlice()); }  // an absent optional operand
  KernelCall& U32(uint64_t value);                            // checked: at most 2^32-1
  KernelCall& F32(float value);
  KernelCall& Constant(absl::string_view name, uint32_t value);  // default of the others is 0
  // A one-dimensional grid is folded into two axes where it exceeds the limit of one, so only
  // kernels that stride over their grid (OA_FOR_EACH, OA_FOR_EACH_ROW) may use it.
  KernelCall& Grid(uint64_t groups);
  KernelCall& Grid(uint64_t x, uint64_t y, uint64_t z = 1);
  KernelCall& Flops(uint64_t flops);
  // What the records of a multi-tensor kernel cost, for the grid of the call they are joined to.
  KernelCall& Loops(LoopCost loops);
  // The operand of a kernel with a prologue, an F32 value (see Dispatch::prologue). Arguments of
  // prologue and epilogue come last in the manifest row and are filled later.
  KernelCall& Prologue(BufferSlice operand);
  // The kernel applies `epilogue` to its main result (see Dispatch::epilogue).
  KernelCall& Epilogue(EwProgram epilogue);
  // The epilogue that only stores the result, an F32 value.
  KernelCall& Epilogue(BufferSlice result);

  const Kernel& kernel() const { return *kernel_; }

 private:
  friend class LowerContext;
  const Kernel* kernel_;
  Dispatch dispatch_;
  std::vector<std::pair<std::string, uint32_t>> constants_;
  std::array<uint64_t, 3> grid_ = {1, 1, 1};
  bool fold_ = false;
  bool overflow_ = false;
};

class LowerContext {
 public:
  LowerContext(const Graph& graph, NodeId node, const KernelPack& pack,
               const DeviceProfile& profile, Program& program,
               const std::vector<int32_t>& storage_buffers)
      : graph_(graph),
        node_(node),
        pack_(pack),
        profile_(profile),
        program_(program),
        storage_buffers_(storage_buffers) {}

  const Node& node() const { return graph_.nodes()[node_]; }
  const Attributes& attributes() const { return node().attributes; }
  const DeviceProfile& profile() const { return profile_; }
  // The route that the compilation asks for; "": choose one.
  const std::string& route() const { return route_; }
  void set_route(absl::string_view route) { route_ = std::string(route); }
  bool has_input(int i) const { return node().inputs[i] != kAbsent; }
  bool has_output(int i) const { return node().outputs[i] != kAbsent; }
  int input_count() const { return static_cast<int>(node().inputs.size()); }
  const Shape& input_shape(int i) const { return graph_.value(node().inputs[i]).shape; }
  const Shape& output_shape(int i = 0) const { return graph_.value(node().outputs[i]).shape; }
  DType input_dtype(int i) const { return graph_.value(node().inputs[i]).dtype; }
  DType output_dtype(int i = 0) const { return graph_.value(node().outputs[i]).dtype; }
  // Elements of an operand or result.
  uint64_t input_count_of(int i) const;
  uint64_t output_count_of(int i = 0) const;

  BufferSlice in(int i) const;
  BufferSlice out(int i = 0) const;
  // `i` present ? in(i) : the null slice.
  BufferSlice in_or_null(int i) const { return has_input(i) ? in(i) : BufferSlice(); }
  BufferSlice out_or_null(int i) const { return has_output(i) ? out(i) : BufferSlice(); }
  // A transient only this node sees.
  BufferSlice Scratch(absl::string_view name, DType dtype, const Shape& shape);

  // Operand `i` as a program input, broadcast to `out_shape` (default: its own shape).
  EwInput Ew(int i) const;
  EwInput Ew(int i, absl::Span<const uint64_t> out_shape) const;

  // The variant of kernel `base` for this device; Unimplemented naming operator, dtypes, shapes
  // and what exists.
  absl::StatusOr<const Kernel*> Select(absl::string_view base) const;

  absl::Status Emit(KernelCall call);
  absl::Status Emit(EwProgram program);

  // Workgroups for a kernel whose invocations stride over `items` (ir/grid.h) and have no loops of
  // their own.
  uint64_t StridedGroups(const Kernel& kernel, uint64_t items) const;
  // The same where the loops inside make `iterations` for each item, the failing tests at their
  // ends included. Unimplemented when a CPU device cannot do so many for one item (kLoopBudget).
  absl::StatusOr<uint64_t> StridedGroups(const Kernel& kernel, uint64_t items,
                                         uint64_t iterations) const;
  // Workgroups for a kernel with one workgroup per row (OA_FOR_EACH_ROW) whose invocations make
  // `iterations` in loops inside for each row and `once` around all rows. Otherwise as above.
  absl::StatusOr<uint64_t> RowGroups(uint64_t rows, uint64_t iterations, uint64_t once = 0) const;
  // For kernels that divide their work in another way: GroupsInLoopBudget of ir/grid.h, with that
  // error.
  absl::StatusOr<uint64_t> GroupsInBudget(uint64_t groups, uint64_t rows, uint64_t iterations,
                                          uint64_t once = 0) const;

 private:
  BufferSlice SliceOf(ValueId id) const;
  absl::Status Append(Dispatch dispatch);

  const Graph& graph_;
  NodeId node_;
  const KernelPack& pack_;
  const DeviceProfile& profile_;
  Program& program_;
  const std::vector<int32_t>& storage_buffers_;  // by StorageId
  std::string route_;
};

}  // namespace oa::ir

#endif  // OA_IR_LOWER_H_
