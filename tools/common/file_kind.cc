#include "tools/common/file_kind.h"

#include <cstring>

#include "absl/strings/match.h"
#include "schema/container.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

bool StartsWith(absl::Span<const uint8_t> bytes, const char* magic, size_t size) {
  return bytes.size() >= size && std::memcmp(bytes.data(), magic, size) == 0;
}

}  // namespace

const char* AnyFileName(AnyFile kind) {
  switch (kind) {
    case AnyFile::kGraph:
      return "graph";
    case AnyFile::kPlan:
      return "plan";
    case AnyFile::kKernelPack:
      return "kernel pack";
    case AnyFile::kSafetensors:
      return "safetensors";
    case AnyFile::kNpy:
      return "NPY array";
  }
  return "unknown";
}

absl::StatusOr<AnyFile> DetectFile(absl::Span<const uint8_t> bytes, const std::string& path) {
  // Short and damaged files are recognised too, so that the parser can say what is wrong with them.
  if (StartsWith(bytes, FileMagic(FileKind::kGraph), 4)) return AnyFile::kGraph;
  if (StartsWith(bytes, FileMagic(FileKind::kPlan), 4)) return AnyFile::kPlan;
  if (StartsWith(bytes, FileMagic(FileKind::kKernelPack), 4)) return AnyFile::kKernelPack;
  if (StartsWith(bytes, "\x93NUMPY", 6)) return AnyFile::kNpy;
  const bool json_header = bytes.size() > 8 && bytes[8] == '{' && bytes[7] == 0 && bytes[6] == 0;
  if (json_header || absl::EndsWith(path, ".safetensors")) return AnyFile::kSafetensors;
  return BadFile("'", path,
                 "' is none of the files OA reads: it does not start like a graph (.oag), plan "
                 "(.oax), kernel pack (.oak), .npy or .safetensors file.");
}

}  // namespace oa::tools
