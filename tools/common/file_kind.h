// Recognises every kind of file the tools read. Stateless.
#ifndef OA_TOOLS_COMMON_FILE_KIND_H_
#define OA_TOOLS_COMMON_FILE_KIND_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace oa::tools {

enum class AnyFile { kGraph, kPlan, kKernelPack, kSafetensors, kNpy };

// "graph", "plan", "kernel pack", "safetensors", "NPY array".
const char* AnyFileName(AnyFile kind);

// By content; safetensors files, which have no magic, also by the end of `path`.
// InvalidArgument (exit code 3) for anything else.
absl::StatusOr<AnyFile> DetectFile(absl::Span<const uint8_t> bytes, const std::string& path);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_FILE_KIND_H_
