// Builds a kernel pack from manifests and compiled shaders.
#ifndef OA_TOOLS_PACK_PACK_H_
#define OA_TOOLS_PACK_PACK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "schema/kernel_pack.h"

namespace oa::pack {

struct PackOptions {
  std::vector<std::string> manifests;  // kernels.json files, in pack order
  std::string spirv_dir;               // holds <kernel name>.spv
  std::vector<std::string> left_out;   // variants that this build could not compile
  std::string compiler;                // name and version, stored in the pack
};

// InvalidArgument naming kernel and reason when a shader and its manifest row disagree.
absl::StatusOr<KernelPack> BuildPack(const PackOptions& options);

// One line a kernel.
std::string ListPack(const KernelPack& pack);

}  // namespace oa::pack

#endif  // OA_TOOLS_PACK_PACK_H_
