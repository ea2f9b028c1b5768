#include "ir/kernel_layout.h"

namespace oa::ir {
namespace {

// The epilogue block starts with this argument (kernels/README.md).
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

bool HasEpilogue(const Kernel& kernel) {
  return FindArgument(kernel.arguments, kFirstEpilogueArgument) >= 0;
}

size_t OwnArgumentCount(const Kernel& kernel) {
  const int first = FindArgument(kernel.arguments, kFirstEpilogueArgument);
  return first >= 0 ? static_cast<size_t>(first) : kernel.arguments.size();
}

}  // namespace oa::ir
