// Compares what a manifest row promises with what the compiled shader does.
#ifndef OA_TOOLS_PACK_CHECK_H_
#define OA_TOOLS_PACK_CHECK_H_

#include "absl/status/status.h"
#include "schema/kernel_pack.h"
#include "tools/pack/spirv.h"

namespace oa::pack {

// InvalidArgument naming the field, what the manifest says and what the shader has: argument kinds,
// names, accesses and byte offsets, records, specialisation constants, and device features.
absl::Status CheckInterface(const Kernel& kernel, const ShaderInterface& shader);

}  // namespace oa::pack

#endif  // OA_TOOLS_PACK_CHECK_H_
