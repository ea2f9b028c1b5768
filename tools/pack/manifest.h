// Reads a family's kernels.json: the rows that declare kernels (kernels/README.md).
#ifndef OA_TOOLS_PACK_MANIFEST_H_
#define OA_TOOLS_PACK_MANIFEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "schema/kernel_pack.h"

namespace oa::pack {

// Every variant of every row, in order, arrays and the epilogue block expanded. What comes from the
// SPIR-V (code, digest, local size, shared bytes) is still empty.
// InvalidArgument naming file, kernel and key for anything unknown, missing or mistyped.
absl::StatusOr<std::vector<Kernel>> ParseManifest(absl::string_view json, const std::string& file);

}  // namespace oa::pack

#endif  // OA_TOOLS_PACK_MANIFEST_H_
