#include "ir/passes/copy.h"

#include "absl/strings/str_cat.h"
#include "ir/grid.h"
#include "ir/kernel_layout.h"
#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

EwProgram WordCopy(const BufferSlice& source, const BufferSlice& target) {
  EwProgram program;
  program.count = source.size_bytes / 4;
  EwInput input;
  input.slice = source;
  input.type = OA_EW_TYPE_RAW;
  input.count = program.count;
  program.inputs.push_back(std::move(input));
  program.outputs.push_back({0, target});
  return program;
}

Argument BufferArgument(const BufferSlice& slice, Access access) {
  Argument argument;
  argument.slice = slice;
  argument.access = access;
  return argument;
}

absl::StatusOr<Dispatch> SmallElementCopy(DType dtype, const BufferSlice& source,
                                          const BufferSlice& target, const KernelPack& pack,
                                          const DeviceProfile& profile) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, pack.Select("cast", profile));
  const int from = FindConstant(*kernel, "source");
  const int to = FindConstant(*kernel, "target");
  if (from < 0 || to < 0 || kernel->arguments.size() != 3) {
    return absl::InternalError(
        absl::StrCat("kernel '", kernel->name, "' has another interface than copies expect"));
  }
  Argument count;
  count.kind = ArgumentKind::kU32;
  count.bits = static_cast<uint32_t>(source.size_bytes / SizeOf(dtype));
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.arguments = {BufferArgument(source, Access::kRead),
                        BufferArgument(target, Access::kWrite), count};
  dispatch.constants.assign(kernel->constants.size(), 0);
  dispatch.constants[from] = dispatch.constants[to] = static_cast<uint32_t>(dtype);
  const uint64_t words = CeilDiv(source.size_bytes, 4);
  dispatch.grid = FoldGrid(profile, StridedGroupCount(profile, *kernel, words));
  return dispatch;
}

}  // namespace

absl::StatusOr<Dispatch> CopyBuffer(const Program& program, uint32_t source, uint32_t target,
                                    const KernelPack& pack, const DeviceProfile& profile) {
  const PlanBuffer& buffer = program.buffers[source];
  const BufferSlice from = {source, 0, buffer.size_bytes};
  const BufferSlice to = {target, 0, buffer.size_bytes};
  Dispatch dispatch;
  if (buffer.size_bytes % 4 == 0) {
    dispatch.elementwise = WordCopy(from, to);
  } else {
    OA_ASSIGN_OR_RETURN(dispatch, SmallElementCopy(buffer.dtype, from, to, pack, profile));
  }
  dispatch.label = "copy";
  return dispatch;
}

}  // namespace oa::ir
