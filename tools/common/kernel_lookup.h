// Finds kernels.oak, the shipped kernel pack.
#ifndef OA_TOOLS_COMMON_KERNEL_LOOKUP_H_
#define OA_TOOLS_COMMON_KERNEL_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "schema/kernel_pack.h"

namespace oa::tools {

// Folder of the running program, or "" when the platform does not tell.
std::string ExecutableFolder();

// `flag` (--kernels) when given, else $OA_KERNELS when set, else kernels.oak beside the program,
// else ../share/oa/kernels.oak. The first two are never replaced by a later place: a pack that was
// asked for and is missing is an error. The error lists every place and how to build a pack.
absl::StatusOr<std::string> FindKernelPack(const std::string& flag);

// FindKernelPack, then a verified load.
absl::StatusOr<KernelPack> LoadKernelPack(const std::string& flag);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_KERNEL_LOOKUP_H_
