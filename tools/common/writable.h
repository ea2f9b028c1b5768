// Checks before a long run that its results can be written when it ends.
#ifndef OA_TOOLS_COMMON_WRITABLE_H_
#define OA_TOOLS_COMMON_WRITABLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace oa::tools {

// Creates and removes a temporary file in the folder of each path; nothing else is touched.
// Usage errors: a missing folder (exit code 3 when it is read-only), a path that is a folder, one
// path named twice.
absl::Status CheckWritable(absl::Span<const std::string> paths);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_WRITABLE_H_
