// LowerContext: the view of one node that its operator row lowers, and the checks of what it emits.
#include "ir/lower.h"

#include "absl/strings/str_cat.h"
#include "ir/grid.h"
#include "ir/kernel_layout.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr uint64_t kSliceAlignment = 16;  // kernels may load 16-byte vectors from a slice's start

uint64_t CountOf(const Value& value) {
  uint64_t count = 1;  // the graph has checked the product
  for (uint64_t extent : value.shape) count *= extent;
  return count;
}

// What the kernel's row says about argument `i` of a call, records included.
const KernelArgument& RowOf(const Kernel& kernel, size_t own, size_t i) {
  if (i < own) return kernel.arguments[i];
  return kernel.records[(i - own) % kernel.records.size()];
}

absl::Status CheckArgumentCount(const Kernel& kernel, const std::vector<Argument>& arguments) {
  const size_t own = OwnArgumentCount(kernel);
  size_t expected = own;
  if (!kernel.records.empty()) {
    const int count = FindArgument(kernel.arguments, "record_count");
    if (count >= 0 && static_cast<size_t>(count) < arguments.size()) {
      expected += arguments[count].bits * kernel.records.size();
    }
  }
  if (arguments.size() == expected) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("got ", arguments.size(), " arguments, the manifest row has ", expected));
}

// Number, kinds and alignment against the row; fills in the access of each buffer.
absl::Status MatchArguments(const Kernel& kernel, std::vector<Argument>& arguments) {
  OA_RETURN_IF_ERROR(CheckArgumentCount(kernel, arguments));
  const size_t own = OwnArgumentCount(kernel);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const KernelArgument& row = RowOf(kernel, own, i);
    if (arguments[i].kind != row.kind) {
      return absl::InternalError(
          absl::StrCat("argument ", i, " '", row.name, "' is of another kind in the manifest row"));
    }
    if (arguments[i].slice.offset % kSliceAlignment != 0) {
      return absl::InternalError(absl::StrCat("argument ", i, " '", row.name, "' starts at byte ",
                                              arguments[i].slice.offset, ", not a multiple of ",
                                              kSliceAlignment));
    }
    arguments[i].access = row.access;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint32_t>> ResolveConstants(
    const Kernel& kernel, absl::Span<const std::pair<std::string, uint32_t>> named) {
  std::vector<uint32_t> values(kernel.constants.size(), 0);
  for (const auto& [name, value] : named) {
    const int index = FindConstant(kernel, name);
    if (index < 0) {
      return absl::InternalError(absl::StrCat("the manifest row has no constant '", name, "'"));
    }
    values[index] = value;
  }
  return values;
}

absl::StatusOr<std::array<uint32_t, 3>> ResolveGrid(const DeviceProfile& profile,
                                                    const std::array<uint64_t, 3>& grid) {
  if (grid[1] == 1 && grid[2] == 1) return FoldGrid(profile, grid[0]);
  std::array<uint32_t, 3> result;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] == 0 || grid[axis] > profile.max_workgroups_per_axis) {
      return absl::InternalError(absl::StrCat("axis ", axis, " of the grid has ", grid[axis],
                                              " workgroups; 1 to ", profile.max_workgroups_per_axis,
                                              " are allowed"));
    }
    result[axis] = static_cast<uint32_t>(grid[axis]);
  }
  return result;
}

absl::Status CheckProgramSize(const EwProgram& program) {
  if (program.inputs.size() <= OA_EW_MAX_INPUTS && program.outputs.size() <= OA_EW_MAX_OUTPUTS &&
      program.code.size() <= OA_EW_MAX_SLOTS) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(
      "the elementwise program has ", program.inputs.size(), " inputs, ", program.outputs.size(),
      " outputs and ", program.code.size(), " instructions; the limits are ", OA_EW_MAX_INPUTS,
      ", ", OA_EW_MAX_OUTPUTS, " and ", OA_EW_MAX_SLOTS));
}

// Prologue and epilogue of a call are there exactly if its kernel has them.
absl::Status CheckAttached(const Kernel& kernel, const Dispatch& dispatch) {
  if (HasPrologue(kernel) != dispatch.prologue.has_value()) {
    return absl::InternalError(
        absl::StrCat("the kernel ", HasPrologue(kernel) ? "needs a" : "has no", " prologue"));
  }
  if (HasEpilogue(kernel) != dispatch.epilogue.has_value()) {
    return absl::InternalError(
        absl::StrCat("the kernel ", HasEpilogue(kernel) ? "needs an" : "has no", " epilogue"));
  }
  if (!dispatch.epilogue || dispatch.epilogue->count <= INT32_MAX) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("the result has ", dispatch.epilogue->count,
                                               " elements, the limit is 2^31-1"));
}

uint64_t FlopsOf(const EwProgram& program) {
  uint64_t per_element = 0;
  for (const EwInstruction& instruction : program.code) per_element += EwFlops(instruction.op);
  return per_element * program.count;
}

}  // namespace

uint64_t LowerContext::input_count_of(int i) const {
  return CountOf(graph_.value(node().inputs[i]));
}

uint64_t LowerContext::output_count_of(int i) const {
  return CountOf(graph_.value(node().outputs[i]));
}

BufferSlice LowerContext::SliceOf(ValueId id) const {
  const Value& value = graph_.value(id);
  BufferSlice slice;
  slice.buffer = static_cast<uint32_t>(storage_buffers_[value.storage]);
  slice.size_bytes = CountOf(value) * SizeOf(value.dtype);
  return slice;
}

BufferSlice LowerContext::in(int i) const { return SliceOf(node().inputs[i]); }
BufferSlice LowerContext::out(int i) const { return SliceOf(node().outputs[i]); }

BufferSlice LowerContext::Scratch(absl::string_view name, DType dtype, const Shape& shape) {
  PlanBuffer buffer;
  buffer.name = absl::StrCat(node().op->name, "#", node_, ".", name);
  buffer.dtype = dtype;
  buffer.shape = shape;
  buffer.size_bytes = SizeOf(dtype);
  for (uint64_t extent : shape) {
    // A product that does not fit is more than kernels can address: the lower pass refuses it.
    buffer.size_bytes = CheckedMul(buffer.size_bytes, extent).value_or(UINT64_MAX);
  }
  BufferSlice slice;
  slice.buffer = static_cast<uint32_t>(program_.buffers.size());
  slice.size_bytes = buffer.size_bytes;
  program_.buffers.push_back(std::move(buffer));
  return slice;
}

EwInput LowerContext::Ew(int i) const { return Ew(i, input_shape(i)); }

EwInput LowerContext::Ew(int i, absl::Span<const uint64_t> out_shape) const {
  return BroadcastInput(in(i), input_dtype(i), input_shape(i), out_shape);
}

absl::StatusOr<const Kernel*> LowerContext::Select(absl::string_view base) const {
  absl::StatusOr<const Kernel*> kernel = pack_.Select(base, profile_);
  if (kernel.ok()) return kernel;
  std::string operands;
  for (ValueId id : node().inputs) {
    absl::StrAppend(&operands, operands.empty() ? "" : ", ",
                    id == kAbsent ? "-" : TypeText(graph_.value(id).dtype, graph_.value(id).shape));
  }
  return Annotate(kernel.status(), absl::StrCat(graph_.NodeText(node_), "(", operands, ")"));
}

absl::Status LowerContext::Append(Dispatch dispatch) {
  dispatch.label = node().op->name;
  dispatch.nodes = {static_cast<uint32_t>(node_)};
  program_.dispatches.push_back(std::move(dispatch));
  return absl::OkStatus();
}

absl::Status LowerContext::Emit(KernelCall call) {
  const Kernel& kernel = call.kernel();
  const std::string context =
      absl::StrCat(graph_.NodeText(node_), " lowered to kernel '", kernel.name, "'");
  if (call.overflow_) {
    return absl::UnimplementedError(
        absl::StrCat(context, ": a size exceeds 2^32-1, the limit of kernel arguments"));
  }
  Dispatch dispatch = std::move(call.dispatch_);
  OA_RETURN_IF_ERROR(Annotate(CheckAttached(kernel, dispatch), context));
  OA_RETURN_IF_ERROR(Annotate(MatchArguments(kernel, dispatch.arguments), context));
  absl::StatusOr<std::vector<uint32_t>> constants = ResolveConstants(kernel, call.constants_);
  OA_RETURN_IF_ERROR(Annotate(constants.status(), context));
  const absl::StatusOr<std::array<uint32_t, 3>> grid = ResolveGrid(profile_, call.grid_);
  OA_RETURN_IF_ERROR(Annotate(grid.status(), context));
  if (dispatch.epilogue) dispatch.flops += FlopsOf(*dispatch.epilogue);
  dispatch.kernel = &kernel;
  dispatch.constants = *std::move(constants);
  dispatch.grid = *grid;
  return Append(std::move(dispatch));
}

absl::Status LowerContext::Emit(EwProgram program) {
  if (program.count == 0) return absl::OkStatus();
  OA_RETURN_IF_ERROR(Annotate(CheckProgramSize(program), graph_.NodeText(node_)));
  Dispatch dispatch;
  dispatch.flops = FlopsOf(program);
  dispatch.elementwise = std::move(program);
  return Append(std::move(dispatch));
}

uint64_t LowerContext::StridedGroups(const Kernel& kernel, uint64_t items) const {
  return StridedGroupCount(profile_, kernel, items);
}

absl::StatusOr<uint64_t> LowerContext::StridedGroups(const Kernel& kernel, uint64_t items,
                                                     uint64_t iterations) const {
  const uint64_t rounds = CeilDiv(items, InvocationCount(kernel));
  return GroupsInBudget(StridedGroups(kernel, items), rounds, iterations + 1);
}

absl::StatusOr<uint64_t> LowerContext::RowGroups(uint64_t rows, uint64_t iterations,
                                                 uint64_t once) const {
  return GroupsInBudget(RowGroupCount(profile_, rows), rows, iterations + 1, once);
}

absl::StatusOr<uint64_t> LowerContext::GroupsInBudget(uint64_t groups, uint64_t rows,
                                                      uint64_t iterations, uint64_t once) const {
  const std::optional<uint64_t> enough =
      GroupsInLoopBudget(profile_, groups, rows, iterations, once);
  if (enough) return *enough;
  return absl::UnimplementedError(absl::StrCat(graph_.NodeText(node_),
                                               ": an invocation would make ", iterations + once,
                                               " loop iterations, CPU devices are limited to ",
                                               kLoopBudget, "; use smaller extents or a GPU"));
}

}  // namespace oa::ir
