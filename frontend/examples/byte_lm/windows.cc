#include "frontend/examples/byte_lm/windows.h"

#include "absl/strings/str_cat.h"

namespace oa::examples {

absl::StatusOr<Windows> CutWindows(absl::Span<const uint8_t> text, uint64_t length,
                                   uint64_t stride) {
  if (length == 0 || stride == 0) {
    return absl::InvalidArgumentError("windows have a length and a stride of at least 1");
  }
  if (text.size() < length) {
    return absl::InvalidArgumentError(
        absl::StrCat("a text of ", text.size(), " bytes has no window of ", length, " bytes"));
  }
  Windows windows;
  windows.length = length;
  windows.count = (text.size() - length) / stride + 1;
  windows.bytes.reserve(windows.count * length);
  for (uint64_t i = 0; i < windows.count; ++i) {
    const absl::Span<const uint8_t> window = text.subspan(i * stride, length);
    windows.bytes.insert(windows.bytes.end(), window.begin(), window.end());
  }
  return windows;
}

}  // namespace oa::examples
