// safetensors files: 8 bytes of header length, a JSON header, then the tensors without gaps.
// Readable and writable by the Python package of the same name.
// Source: https://github.com/huggingface/safetensors (README, "Format").
#ifndef OA_TOOLS_COMMON_SAFETENSORS_H_
#define OA_TOOLS_COMMON_SAFETENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/common/tensor.h"

namespace oa::tools {

struct Safetensors {
  std::vector<Tensor> tensors;                  // by name
  std::map<std::string, std::string> metadata;  // "__metadata__"

  // Null when there is none.
  const Tensor* Find(absl::string_view name) const;
};

// Verified: header and tensors lie inside the file, sizes follow from dtype and shape, the tensors
// cover the data without overlap or gap. DataLoss names the tensor. Tensors view the file.
absl::StatusOr<Safetensors> ParseSafetensors(Blob file, const std::string& name);
absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path);

// Tensors are stored widest element first, then by name, so that each is aligned to its element.
// Deterministic.
std::vector<uint8_t> SafetensorsHeader(absl::Span<const Tensor* const> ordered,
                                       const std::map<std::string, std::string>& metadata);
absl::Status WriteSafetensors(const std::string& path, const Safetensors& content);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_SAFETENSORS_H_
