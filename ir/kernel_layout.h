// Questions about a kernel's manifest row that several passes ask. Pure.
#ifndef OA_IR_KERNEL_LAYOUT_H_
#define OA_IR_KERNEL_LAYOUT_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

// Index of the argument or constant called `name`, or -1.
int FindArgument(const std::vector<KernelArgument>& arguments, absl::string_view name);
int FindConstant(const Kernel& kernel, absl::string_view name);

// Whether the kernel makes its operand with a prologue program.
bool HasPrologue(const Kernel& kernel);
// Whether it applies an epilogue program to its main result.
bool HasEpilogue(const Kernel& kernel);

// Arguments in front of the blocks of prologue and epilogue, which a lowering supplies; all without
// such blocks.
size_t OwnArgumentCount(const Kernel& kernel);

}  // namespace oa::ir

#endif  // OA_IR_KERNEL_LAYOUT_H_
