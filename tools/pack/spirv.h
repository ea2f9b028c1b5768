// A small SPIR-V reader: what a compute shader demands from whoever dispatches it. Only the parts
// that the kernel conventions use are understood; anything else is an error, not a guess.
#ifndef OA_TOOLS_PACK_SPIRV_H_
#define OA_TOOLS_PACK_SPIRV_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schema/kernel_pack.h"

namespace oa::pack {

// One field of the argument block. Arrays are expanded: `s` of 2 elements is s0, s1.
struct BlockField {
  std::string name;  // "" when the shader was stripped of names
  ArgumentKind kind = ArgumentKind::kBuffer;
  Access access = Access::kReadWrite;  // buffers: from readonly / writeonly
  uint32_t offset = 0;                 // bytes from the start of the block or record
};

struct SpecConstant {
  std::string name;
  uint32_t id = 0;
};

struct ShaderInterface {
  std::array<uint32_t, 3> local_size = {0, 0, 0};
  uint32_t shared_bytes = 0;
  std::vector<SpecConstant> constants;
  std::vector<uint32_t> capabilities;  // SPIR-V numbers
  std::vector<BlockField> arguments;   // of the block the push constant points to
  // The runtime array at the end of the block, for kernels that work on many tensors at once.
  bool has_records = false;
  uint32_t records_offset = 0;
  uint32_t record_stride = 0;
  std::vector<BlockField> records;
};

// InvalidArgument saying what the conventions of kernels/README.md do not allow.
absl::StatusOr<ShaderInterface> ReadSpirv(absl::Span<const uint32_t> words);

// The module without names and source text, so that the packed bytes do not change with them.
std::vector<uint32_t> StripDebug(absl::Span<const uint32_t> words);

}  // namespace oa::pack

#endif  // OA_TOOLS_PACK_SPIRV_H_
