// Whole-file reading and atomic writing.
#ifndef OA_SCHEMA_FILE_IO_H_
#define OA_SCHEMA_FILE_IO_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schema/blob.h"

namespace oa {

// The file's bytes, memory-mapped where the platform allows. NotFound when it does not exist;
// the message names the path.
absl::StatusOr<Blob> ReadFile(const std::string& path);

// Writes the concatenation of `parts` so that `path` holds either its old content or all of the
// new: temporary file in the same folder, fsync, rename, fsync of the folder. On failure (a full
// disk, a missing folder) the temporary file is removed and an existing `path` is untouched.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::Span<const uint8_t>> parts);

}  // namespace oa

#endif  // OA_SCHEMA_FILE_IO_H_
