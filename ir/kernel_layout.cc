#include "ir/kernel_layout.h"

namespace oa::ir {
namespace {

// The blocks start with these arguments (kernels/README.md), the prologue's in front.
constexpr absl::string_view kFirstPrologueArgument = "pin0";
constexpr absl::string_view kFirstEpilogueArgument = "ein1";

}  // namespace

int FindArgument(const std::vector<KernelArgument>& arguments, absl::string_view name) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int FindConstant(const Kernel& kernel, absl::string_view name) {
  for (size_t i = 0; i < kernel.constants.size(); ++i) {
    if (kernel.constants[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool HasPrologue(const Kernel& kernel) {
  return FindArgument(kernel.arguments, kFirstPrologueArgument) >= 0;
}

bool HasEpilogue(const Kernel& kernel) {
  return FindArgument(kernel.arguments, kFirstEpilogueArgument) >= 0;
}

size_t OwnArgumentCount(const Kernel& kernel) {
  for (absl::string_view name : {kFirstPrologueArgument, kFirstEpilogueArgument}) {
    const int first = FindArgument(kernel.arguments, name);
    if (first >= 0) return static_cast<size_t>(first);
  }
  return kernel.arguments.size();
}

}  // namespace oa::ir
