// The container all three file kinds share: a 64-byte header, one flatbuffer, then raw segments.
// FORMAT.md has the byte layout. Reading always verifies size, magic, version and digest first.
#ifndef OA_SCHEMA_CONTAINER_H_
#define OA_SCHEMA_CONTAINER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schema/blob.h"

namespace oa {

// Position of a byte range relative to the start of the segment area.
struct BlobRef {
  uint64_t offset = 0;
  uint64_t size = 0;
};

enum class FileKind { kGraph, kPlan, kKernelPack };

// "OAG1", "OAX1", "OAK1".
const char* FileMagic(FileKind kind);

inline constexpr uint16_t kFormatMajor = 1;
inline constexpr uint16_t kFormatMinor = 0;
inline constexpr uint64_t kSegmentAlignment = 4096;  // of the segment area in the file
inline constexpr uint64_t kTensorAlignment = 256;    // of every blob in the segment area

// Collects blobs while the flatbuffer is being built, then writes both.
// Not thread-safe. The blobs must stay alive until Write (Blob shares ownership).
class ContainerWriter {
 public:
  explicit ContainerWriter(FileKind kind) : kind_(kind) {}

  // Reserves an aligned place for `blob`; an empty blob gets {0, 0}.
  BlobRef Add(const Blob& blob);

  // The whole file in memory. Deterministic: equal input gives equal bytes.
  std::vector<uint8_t> Serialize(absl::Span<const uint8_t> flatbuffer) const;

  absl::Status Write(const std::string& path, absl::Span<const uint8_t> flatbuffer) const;

 private:
  FileKind kind_;
  std::vector<std::pair<BlobRef, Blob>> blobs_;
  uint64_t segment_size_ = 0;
};

// An opened container whose header and digest are good. The flatbuffer is not yet verified.
class ContainerReader {
 public:
  // `name` appears in error messages; DataLoss for anything damaged, InvalidArgument for a file of
  // another kind or of a newer major version.
  static absl::StatusOr<ContainerReader> Parse(FileKind kind, Blob file, std::string name);

  // Which kind the bytes claim to be, by magic alone.
  static absl::StatusOr<FileKind> Sniff(absl::Span<const uint8_t> file, const std::string& name);

  absl::Span<const uint8_t> flatbuffer() const { return flatbuffer_; }
  const std::string& name() const { return name_; }
  uint64_t digest() const { return digest_; }

  // The bytes of `ref`; DataLoss when it leaves the segment area or is not aligned.
  // `what` names the owner for the message ("storages[3].data").
  absl::StatusOr<Blob> Get(BlobRef ref, const std::string& what) const;

 private:
  Blob file_;
  std::string name_;
  absl::Span<const uint8_t> flatbuffer_;
  absl::Span<const uint8_t> segment_;
  uint64_t digest_ = 0;
};

// DataLoss unless the ranges are disjoint (empty ones are ignored).
absl::Status CheckDisjoint(std::vector<BlobRef> refs, const std::string& file_name);

// xxh3-64 of `bytes`.
uint64_t Digest(absl::Span<const uint8_t> bytes);

}  // namespace oa

#endif  // OA_SCHEMA_CONTAINER_H_
