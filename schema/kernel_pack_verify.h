// The semantic verifier of kernel packs.
#ifndef OA_SCHEMA_KERNEL_PACK_VERIFY_H_
#define OA_SCHEMA_KERNEL_PACK_VERIFY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "schema/kernel_pack.h"

namespace oa {

// Names are unique, SPIR-V is intact, local sizes are possible, every extent expression parses and
// knows its names. DataLoss naming `file` and the kernel.
absl::Status VerifyKernels(const std::vector<Kernel>& kernels, const std::string& file);

}  // namespace oa

#endif  // OA_SCHEMA_KERNEL_PACK_VERIFY_H_
