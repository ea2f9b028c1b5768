// Training data of byte-level language models: a text cut into windows.
#ifndef OA_FRONTEND_EXAMPLES_BYTE_LM_WINDOWS_H_
#define OA_FRONTEND_EXAMPLES_BYTE_LM_WINDOWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace oa::examples {

struct Windows {
  uint64_t count = 0, length = 0;
  std::vector<uint8_t> bytes;  // U8 [count, length]
};

// Windows of `length` bytes that begin every `stride` bytes, without an incomplete last one.
// InvalidArgument when length or stride is 0 or the text is shorter than a window.
absl::StatusOr<Windows> CutWindows(absl::Span<const uint8_t> text, uint64_t length,
                                   uint64_t stride);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_BYTE_LM_WINDOWS_H_
