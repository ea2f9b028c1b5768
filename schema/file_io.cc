#include "schema/file_io.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

// One system call moves at most this much (Linux stops at 2 GiB - 4 KiB).
constexpr size_t kMaxTransfer = size_t{1} << 30;

absl::Status SystemError(absl::string_view action, const std::string& path, int error) {
  std::string message =
      absl::StrCat("cannot ", action, " '", path, "': ", std::generic_category().message(error));
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(
        absl::StrCat(message, "; free some space or choose another folder."));
  }
  return absl::Status(absl::ErrnoToStatusCode(error), message);
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  // Some file systems report a failed write only here.
  int Close() {
    const int result = close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

// For what cannot be mapped: pipes and file systems without mmap.
absl::StatusOr<Blob> ReadByCopy(int fd, const std::string& path) {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> chunk(size_t{1} << 16);
  while (true) {
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path, errno);
    if (got == 0) return Blob::Own(std::move(bytes));
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + got);
  }
}

absl::Status WriteAll(int fd, absl::Span<const uint8_t> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError("write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The name is unique among the threads of all processes that share the folder.
std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(path, ".tmp-", getpid(), "-", counter.fetch_add(1));
}

absl::Status WriteAndSync(const std::string& temporary, const std::string& path,
                          absl::Span<const absl::Span<const uint8_t>> parts) {
  FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return SystemError("create", path, errno);
  for (absl::Span<const uint8_t> part : parts) {
    OA_RETURN_IF_ERROR(WriteAll(file.get(), part, path));
  }
  if (fsync(file.get()) != 0) return SystemError("write", path, errno);
  if (file.Close() != 0) return SystemError("write", path, errno);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Blob> ReadFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError("open", path, errno);
  struct stat info;
  if (fstat(file.get(), &info) != 0) return SystemError("open", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read '", path, "': it is a folder."));
  }
  if (!S_ISREG(info.st_mode)) return ReadByCopy(file.get(), path);
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return Blob();
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return ReadByCopy(file.get(), path);
  std::shared_ptr<const void> owner(mapped,
                                    [size](const void* p) { munmap(const_cast<void*>(p), size); });
  return Blob::Share(std::move(owner), {static_cast<const uint8_t*>(mapped), size});
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::Span<const uint8_t>> parts) {
  // Renaming over a folder fails late and over a device node would replace it.
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write '", path, "': it exists and is not a regular file."));
  }
  const std::string temporary = TemporaryName(path);
  absl::Status status = WriteAndSync(temporary, path, parts);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError("rename the temporary file to", path, errno);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  // Makes the rename itself durable. Some file systems cannot sync a folder; the new content is
  // in place either way.
  FileDescriptor folder(open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0 && fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return SystemError("write", path, errno);
  }
  return absl::OkStatus();
}

}  // namespace oa
