#include "schema/container.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "schema/checked_math.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

using Bytes = absl::Span<const uint8_t>;

constexpr uint64_t kHeaderSize = 64;
// FlatBuffers addresses with signed 32-bit offsets; half of that leaves room for its own checks.
constexpr uint64_t kMaxFlatbufferSize = uint64_t{1} << 30;

// Byte positions in the header; FORMAT.md describes the fields.
constexpr size_t kMajorAt = 4;
constexpr size_t kMinorAt = 6;
constexpr size_t kHeaderSizeAt = 8;
constexpr size_t kReservedAt = 12;
constexpr size_t kFlatbufferOffsetAt = 16;
constexpr size_t kFlatbufferSizeAt = 24;
constexpr size_t kSegmentBaseAt = 32;
constexpr size_t kSegmentSizeAt = 40;
constexpr size_t kDigestAt = 48;
constexpr size_t kPaddingAt = 56;

using Header = std::array<uint8_t, kHeaderSize>;

constexpr std::array<uint8_t, kSegmentAlignment> kZeros = {};

void Put(Header& header, size_t at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) header[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t Take(Bytes file, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{file[at + i]} << (8 * i);
  return value;
}

uint64_t SegmentBase(uint64_t flatbuffer_size, uint64_t segment_size) {
  return segment_size == 0 ? 0 : AlignUp(kHeaderSize + flatbuffer_size, kSegmentAlignment);
}

// The digest covers the whole file with its own field read as zero, so that no byte is unprotected.
uint64_t DigestParts(const Header& header, absl::Span<const Bytes> rest) {
  Header zeroed = header;
  Put(zeroed, kDigestAt, 0, 8);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, zeroed.data(), zeroed.size());
  for (Bytes part : rest) {
    if (!part.empty()) XXH3_64bits_update(&state, part.data(), part.size());
  }
  return XXH3_64bits_digest(&state);
}

// Everything after the header: flatbuffer, padding, blobs with the padding between them.
std::vector<Bytes> BodyParts(Bytes flatbuffer, const std::vector<std::pair<BlobRef, Blob>>& blobs,
                             uint64_t segment_size) {
  std::vector<Bytes> parts = {flatbuffer};
  if (segment_size == 0) return parts;
  const uint64_t end = kHeaderSize + flatbuffer.size();
  parts.push_back(Bytes(kZeros).first(SegmentBase(flatbuffer.size(), segment_size) - end));
  uint64_t position = 0;
  for (const auto& [ref, blob] : blobs) {
    parts.push_back(Bytes(kZeros).first(ref.offset - position));
    parts.push_back(blob.bytes());
    position = ref.offset + ref.size;
  }
  return parts;
}

Header MakeHeader(FileKind kind, uint64_t flatbuffer_size, uint64_t segment_size) {
  Header header = {};
  std::memcpy(header.data(), FileMagic(kind), 4);
  Put(header, kMajorAt, kFormatMajor, 2);
  Put(header, kMinorAt, kFormatMinor, 2);
  Put(header, kHeaderSizeAt, kHeaderSize, 4);
  Put(header, kFlatbufferOffsetAt, kHeaderSize, 8);
  Put(header, kFlatbufferSizeAt, flatbuffer_size, 8);
  Put(header, kSegmentBaseAt, SegmentBase(flatbuffer_size, segment_size), 8);
  Put(header, kSegmentSizeAt, segment_size, 8);
  return header;
}

absl::Status CheckVersion(Bytes file, const std::string& name) {
  const uint64_t major = Take(file, kMajorAt, 2);
  if (major > kFormatMajor) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' has format version ", major, ".", Take(file, kMinorAt, 2),
        "; this program reads up to version ", kFormatMajor, ", so it needs a newer release."));
  }
  if (major != kFormatMajor) {
    return absl::DataLossError(absl::StrCat("'", name, "' has format version ", major,
                                            ", which does not exist; the file is damaged."));
  }
  return absl::OkStatus();
}

// The declared parts must fill the file exactly.
absl::Status CheckExtents(Bytes file, const std::string& name) {
  auto damaged = [&](absl::string_view field, uint64_t got, uint64_t want) {
    return absl::DataLossError(absl::StrCat("'", name, "': the header's ", field, " is ", got,
                                            " where ", want,
                                            " is expected; the file is truncated or damaged."));
  };
  const uint64_t header_size = Take(file, kHeaderSizeAt, 4);
  if (header_size != kHeaderSize) return damaged("header_size", header_size, kHeaderSize);
  const uint64_t offset = Take(file, kFlatbufferOffsetAt, 8);
  if (offset != kHeaderSize) return damaged("flatbuffer_offset", offset, kHeaderSize);
  const uint64_t size = Take(file, kFlatbufferSizeAt, 8);
  if (size > kMaxFlatbufferSize || size > file.size() - kHeaderSize) {
    return absl::DataLossError(
        absl::StrCat("'", name, "' declares a flatbuffer of ", size, " bytes but has ",
                     file.size() - kHeaderSize, " bytes after its header (the limit is ",
                     kMaxFlatbufferSize, "); the file is truncated or damaged."));
  }
  const uint64_t segment_size = Take(file, kSegmentSizeAt, 8);
  const uint64_t base = Take(file, kSegmentBaseAt, 8);
  const uint64_t want_base = SegmentBase(size, segment_size);
  if (base != want_base) return damaged("segment_base", base, want_base);
  const uint64_t used = segment_size == 0 ? kHeaderSize + size : base;
  const std::optional<uint64_t> end = CheckedAdd(used, segment_size);
  if (!end || *end != file.size()) {
    return absl::DataLossError(
        absl::StrCat("'", name, "' has ", file.size(), " bytes but its header declares ", used,
                     " + ", segment_size, "; the file is truncated or has trailing bytes."));
  }
  return absl::OkStatus();
}

absl::Status CheckDigest(Bytes file, const std::string& name) {
  Header header;
  std::memcpy(header.data(), file.data(), kHeaderSize);
  const Bytes rest = file.subspan(kHeaderSize);
  const uint64_t got = DigestParts(header, absl::MakeConstSpan(&rest, 1));
  const uint64_t want = Take(file, kDigestAt, 8);
  if (got != want) {
    return absl::DataLossError(absl::StrFormat(
        "'%s' is damaged: its digest is %016x but the header says %016x.", name, got, want));
  }
  if (Take(file, kReservedAt, 4) != 0 || Take(file, kPaddingAt, 8) != 0) {
    return absl::DataLossError(
        absl::StrCat("'", name, "' has reserved header bytes that are not zero."));
  }
  return absl::OkStatus();
}

}  // namespace

const char* FileMagic(FileKind kind) {
  switch (kind) {
    case FileKind::kGraph:
      return "OAG1";
    case FileKind::kPlan:
      return "OAX1";
    case FileKind::kKernelPack:
      return "OAK1";
  }
  return "????";
}

uint64_t Digest(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

BlobRef ContainerWriter::Add(const Blob& blob) {
  if (blob.empty()) return {};
  const BlobRef ref = {AlignUp(segment_size_, kTensorAlignment), blob.size()};
  segment_size_ = ref.offset + ref.size;
  blobs_.emplace_back(ref, blob);
  return ref;
}

std::vector<uint8_t> ContainerWriter::Serialize(Bytes flatbuffer) const {
  const std::vector<Bytes> body = BodyParts(flatbuffer, blobs_, segment_size_);
  Header header = MakeHeader(kind_, flatbuffer.size(), segment_size_);
  Put(header, kDigestAt, DigestParts(header, body), 8);
  std::vector<uint8_t> file(header.begin(), header.end());
  uint64_t size = kHeaderSize;
  for (Bytes part : body) size += part.size();
  file.reserve(size);
  for (Bytes part : body) file.insert(file.end(), part.begin(), part.end());
  return file;
}

absl::Status ContainerWriter::Write(const std::string& path, Bytes flatbuffer) const {
  if (flatbuffer.size() > kMaxFlatbufferSize) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot write '", path, "': its tables take ",
                                                     flatbuffer.size(), " bytes, the limit is ",
                                                     kMaxFlatbufferSize, "."));
  }
  std::vector<Bytes> parts = BodyParts(flatbuffer, blobs_, segment_size_);
  Header header = MakeHeader(kind_, flatbuffer.size(), segment_size_);
  Put(header, kDigestAt, DigestParts(header, parts), 8);
  parts.insert(parts.begin(), Bytes(header));
  return WriteFileAtomically(path, parts);
}

absl::StatusOr<FileKind> ContainerReader::Sniff(Bytes file, const std::string& name) {
  if (file.size() < kHeaderSize) {
    return absl::DataLossError(absl::StrCat("'", name, "' has ", file.size(),
                                            " bytes; a header alone has ", kHeaderSize, "."));
  }
  for (FileKind kind : {FileKind::kGraph, FileKind::kPlan, FileKind::kKernelPack}) {
    if (std::memcmp(file.data(), FileMagic(kind), 4) == 0) return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is not an OA file: it does not start with ",
                   "OAG1 (graph), OAX1 (plan) or OAK1 (kernel pack)."));
}

absl::StatusOr<ContainerReader> ContainerReader::Parse(FileKind kind, Blob file, std::string name) {
  OA_ASSIGN_OR_RETURN(const FileKind found, Sniff(file.bytes(), name));
  if (found != kind) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' is a file of kind ", FileMagic(found), ", expected ", FileMagic(kind), "."));
  }
  OA_RETURN_IF_ERROR(CheckVersion(file.bytes(), name));
  OA_RETURN_IF_ERROR(CheckExtents(file.bytes(), name));
  OA_RETURN_IF_ERROR(CheckDigest(file.bytes(), name));
  // Mapped files and vectors are aligned; a view into something else may not be, and the tables
  // are read in place.
  if (reinterpret_cast<uintptr_t>(file.bytes().data()) % alignof(uint64_t) != 0) {
    file = Blob::Own({file.bytes().begin(), file.bytes().end()});
  }
  ContainerReader reader;
  const Bytes bytes = file.bytes();
  reader.flatbuffer_ = bytes.subspan(kHeaderSize, Take(bytes, kFlatbufferSizeAt, 8));
  const uint64_t segment_size = Take(bytes, kSegmentSizeAt, 8);
  if (segment_size > 0) reader.segment_ = bytes.subspan(Take(bytes, kSegmentBaseAt, 8));
  reader.digest_ = Take(bytes, kDigestAt, 8);
  reader.file_ = std::move(file);
  reader.name_ = std::move(name);
  return reader;
}

absl::StatusOr<Blob> ContainerReader::Get(BlobRef ref, const std::string& what) const {
  if (ref.size == 0) return Blob();
  if (ref.offset % kTensorAlignment != 0) {
    return absl::DataLossError(absl::StrCat("'", name_, "': ", what, " starts at ", ref.offset,
                                            ", not a multiple of ", kTensorAlignment, "."));
  }
  const std::optional<uint64_t> end = CheckedAdd(ref.offset, ref.size);
  if (!end || *end > segment_.size()) {
    return absl::DataLossError(absl::StrCat("'", name_, "': ", what, " has ", ref.size,
                                            " bytes at ", ref.offset, ", outside the ",
                                            segment_.size(), " bytes of the segment area."));
  }
  return Blob::Share(std::make_shared<Blob>(file_), segment_.subspan(ref.offset, ref.size));
}

absl::Status CheckDisjoint(std::vector<BlobRef> refs, const std::string& file_name) {
  refs.erase(std::remove_if(refs.begin(), refs.end(), [](BlobRef r) { return r.size == 0; }),
             refs.end());
  std::sort(refs.begin(), refs.end(), [](BlobRef a, BlobRef b) { return a.offset < b.offset; });
  for (size_t i = 1; i < refs.size(); ++i) {
    const BlobRef& left = refs[i - 1];
    if (left.size > refs[i].offset - left.offset) {
      return absl::DataLossError(absl::StrCat("'", file_name, "': the ", left.size, " bytes at ",
                                              left.offset, " and the ", refs[i].size, " bytes at ",
                                              refs[i].offset, " of the segment area overlap."));
    }
  }
  return absl::OkStatus();
}

}  // namespace oa
