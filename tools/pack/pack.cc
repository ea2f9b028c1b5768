#include "tools/pack/pack.h"

#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "schema/container.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"
#include "tools/pack/check.h"
#include "tools/pack/manifest.h"
#include "tools/pack/spirv.h"

namespace oa::pack {
namespace {

absl::string_view AsText(const Blob& blob) {
  return {reinterpret_cast<const char*>(blob.bytes().data()), blob.bytes().size()};
}

absl::StatusOr<std::vector<uint32_t>> ReadWords(const std::string& path) {
  OA_ASSIGN_OR_RETURN(const Blob file, ReadFile(path));
  std::vector<uint32_t> words(file.size() / 4);
  std::memcpy(words.data(), file.bytes().data(), words.size() * 4);
  return words;
}

// Completes `kernel` from its shader.
absl::Status AddShader(const std::string& path, Kernel& kernel) {
  OA_ASSIGN_OR_RETURN(const std::vector<uint32_t> words, ReadWords(path));
  OA_ASSIGN_OR_RETURN(const ShaderInterface shader, ReadSpirv(words));
  kernel.local_size = shader.local_size;
  kernel.shared_bytes = shader.shared_bytes;
  OA_RETURN_IF_ERROR(CheckInterface(kernel, shader));
  const std::vector<uint32_t> stripped = StripDebug(words);
  std::vector<uint8_t> bytes(stripped.size() * 4);
  std::memcpy(bytes.data(), stripped.data(), bytes.size());
  kernel.digest = Digest(bytes);
  kernel.spirv = Blob::Own(std::move(bytes));
  return absl::OkStatus();
}

const char* DeviceName(KernelDevice device) {
  switch (device) {
    case KernelDevice::kAny:
      return "any";
    case KernelDevice::kGpu:
      return "gpu";
    case KernelDevice::kCpu:
      return "cpu";
  }
  return "?";
}

}  // namespace

absl::StatusOr<KernelPack> BuildPack(const PackOptions& options) {
  std::vector<Kernel> kernels;
  for (const std::string& path : options.manifests) {
    OA_ASSIGN_OR_RETURN(const Blob text, ReadFile(path));
    OA_ASSIGN_OR_RETURN(std::vector<Kernel> rows, ParseManifest(AsText(text), path));
    for (Kernel& kernel : rows) {
      if (absl::c_linear_search(options.left_out, kernel.name)) continue;
      const std::string shader = absl::StrCat(options.spirv_dir, "/", kernel.name, ".spv");
      OA_RETURN_IF_ERROR(Annotate(AddShader(shader, kernel), absl::StrCat("kernel ", kernel.name)));
      kernels.push_back(std::move(kernel));
    }
  }
  return KernelPack(std::move(kernels), options.compiler);
}

std::string ListPack(const KernelPack& pack) {
  std::string text = absl::StrCat("compiler: ", pack.compiler(), "\n");
  for (const Kernel& k : pack.kernels()) {
    const ArgumentLayout layout = LayoutArguments(k);
    absl::StrAppendFormat(
        &text, "%-32s %3s  local %ux%ux%u  shared %5u  args %3u (%3u bytes)  spirv %6u", k.name,
        DeviceName(k.device), k.local_size[0], k.local_size[1], k.local_size[2], k.shared_bytes,
        k.arguments.size(), layout.Size(0), k.spirv.size());
    if (k.subgroup_size != 0) absl::StrAppend(&text, "  subgroup ", k.subgroup_size);
    if (!k.tile.empty()) absl::StrAppend(&text, "  tile ", absl::StrJoin(k.tile, "x"));
    if (!k.features.empty()) absl::StrAppend(&text, "  needs ", absl::StrJoin(k.features, ","));
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace oa::pack
