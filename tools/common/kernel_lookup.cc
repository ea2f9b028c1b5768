#include "tools/common/kernel_lookup.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

constexpr char kFileName[] = "kernels.oak";
constexpr char kHowToBuild[] =
    "build it with `cmake --build --preset release --target oa_kernels` or give --kernels FILE";

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

absl::StatusOr<std::string> Explicit(const std::string& path, const std::string& source) {
  if (IsFile(path)) return path;
  return WithExit(absl::NotFoundError(absl::StrCat("the kernel pack '", path, "' from ", source,
                                                   " does not exist; ", kHowToBuild, ".")),
                  kExitFile);
}

}  // namespace

std::string ExecutableFolder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

absl::StatusOr<std::string> FindKernelPack(const std::string& flag) {
  if (!flag.empty()) return Explicit(flag, "--kernels");
  const char* variable = std::getenv("OA_KERNELS");
  if (variable != nullptr && variable[0] != '\0') return Explicit(variable, "$OA_KERNELS");
  const std::string folder = ExecutableFolder();
  const std::vector<std::string> places = {
      absl::StrCat(folder, "/", kFileName),
      (std::filesystem::path(folder) / ".." / "share" / "oa" / kFileName)
          .lexically_normal()
          .string()};
  for (const std::string& place : places) {
    if (IsFile(place)) return place;
  }
  return WithExit(absl::NotFoundError(absl::StrCat(
                      "no kernel pack was found: --kernels and $OA_KERNELS are not set, and there "
                      "is no '",
                      absl::StrJoin(places, "' and no '"), "'; ", kHowToBuild, ".")),
                  kExitFile);
}

absl::StatusOr<KernelPack> LoadKernelPack(const std::string& flag) {
  OA_ASSIGN_OR_RETURN(const std::string path, FindKernelPack(flag));
  absl::StatusOr<KernelPack> pack = KernelPack::Load(path);
  if (!pack.ok()) return WithExit(pack.status(), kExitFile);
  return pack;
}

}  // namespace oa::tools
