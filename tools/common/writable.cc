#include "tools/common/writable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

// Asking for permissions misses read-only and full file systems; trying does not.
absl::Status TryFolder(const std::filesystem::path& folder, const std::string& path) {
  const std::string probe =
      (folder / absl::StrCat(".oa-write-test-", static_cast<int64_t>(getpid()))).string();
  const int fd = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return BadFile("'", path, "' cannot be written: ", std::generic_category().message(errno),
                   "; choose another folder.");
  }
  close(fd);
  unlink(probe.c_str());
  return absl::OkStatus();
}

absl::Status CheckOne(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file(path);
  if (path.empty()) return UsageError("an output file has an empty name.");
  if (std::filesystem::is_directory(file, error)) {
    return UsageError("'", path, "' is a folder; name a file in it.");
  }
  std::filesystem::path folder = file.parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, error)) {
    return UsageError("'", path, "' cannot be written: the folder '", folder.string(),
                      "' does not exist; create it first.");
  }
  return TryFolder(folder, path);
}

}  // namespace

absl::Status CheckWritable(absl::Span<const std::string> paths) {
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    OA_RETURN_IF_ERROR(CheckOne(path));
    if (!seen.insert(std::filesystem::path(path).lexically_normal().string()).second) {
      return UsageError("'", path, "' would be written twice; give each output its own file.");
    }
  }
  return absl::OkStatus();
}

}  // namespace oa::tools
