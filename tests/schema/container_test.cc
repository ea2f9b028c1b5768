#include "schema/container.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "schema/file_io.h"

namespace oa {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes Pattern(size_t size, uint8_t seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(seed + 7 * i);
  return bytes;
}

Bytes ToBytes(absl::Span<const uint8_t> span) { return Bytes(span.begin(), span.end()); }

absl::Status ParseStatus(Bytes file) {
  return ContainerReader::Parse(FileKind::kPlan, Blob::Own(std::move(file)), "t.oax").status();
}

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

// A new folder under the system's temporary one, removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "oa_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  size_t EntryCount() const {
    const std::filesystem::directory_iterator entries(path_);
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

 private:
  std::string path_;
};

Bytes SmallFile(bool with_blobs) {
  ContainerWriter writer(FileKind::kPlan);
  if (with_blobs) {
    writer.Add(Blob::Own(Pattern(300, 1)));
    writer.Add(Blob::Own(Pattern(5, 2)));
  }
  return writer.Serialize(Pattern(40, 9));
}

}  // namespace

TEST_CASE("a container survives the round trip") {
  ContainerWriter writer(FileKind::kGraph);
  const BlobRef first = writer.Add(Blob::Own(Pattern(300, 1)));
  const BlobRef empty = writer.Add(Blob());
  const BlobRef second = writer.Add(Blob::Own(Pattern(5, 2)));
  CHECK(first.offset == 0);
  CHECK(empty.size == 0);
  CHECK(second.offset == 512);
  const Bytes flatbuffer = Pattern(40, 9);
  const Bytes file = writer.Serialize(flatbuffer);
  CHECK(file == writer.Serialize(flatbuffer));
  CHECK(file.size() == kSegmentAlignment + 512 + 5);

  const auto reader = ContainerReader::Parse(FileKind::kGraph, Blob::Own(file), "t.oag");
  REQUIRE(reader.ok());
  CHECK(ToBytes(reader->flatbuffer()) == flatbuffer);
  CHECK(reader->name() == "t.oag");
  CHECK(ToBytes(reader->Get(first, "a")->bytes()) == Pattern(300, 1));
  CHECK(ToBytes(reader->Get(second, "b")->bytes()) == Pattern(5, 2));
  CHECK(reader->Get(empty, "c")->empty());
  CHECK(Mentions(reader->Get({512, 6}, "storages[3].data").status(), "storages[3].data"));
  CHECK(absl::IsDataLoss(reader->Get({1, 1}, "d").status()));
  CHECK(absl::IsDataLoss(reader->Get({UINT64_MAX - 255, 512}, "e").status()));
  CHECK(absl::IsDataLoss(reader->Get({0, UINT64_MAX}, "f").status()));
}

TEST_CASE("a blob outlives its reader") {
  Blob blob;
  {
    const auto reader =
        ContainerReader::Parse(FileKind::kPlan, Blob::Own(SmallFile(true)), "t.oax");
    REQUIRE(reader.ok());
    blob = *reader->Get({0, 300}, "a");
  }
  CHECK(ToBytes(blob.bytes()) == Pattern(300, 1));
}

TEST_CASE("a misaligned view is accepted") {
  auto storage = std::make_shared<Bytes>(1);
  const Bytes file = SmallFile(true);
  storage->insert(storage->end(), file.begin(), file.end());
  const absl::Span<const uint8_t> view = absl::MakeConstSpan(*storage).subspan(1);
  const auto reader = ContainerReader::Parse(FileKind::kPlan, Blob::Share(storage, view), "t.oax");
  REQUIRE(reader.ok());
  CHECK(reinterpret_cast<uintptr_t>(reader->flatbuffer().data()) % 8 == 0);
  CHECK(ToBytes(reader->flatbuffer()) == Pattern(40, 9));
}

TEST_CASE("a container cut at any byte, or with bytes behind it, is refused") {
  for (bool with_blobs : {false, true}) {
    const Bytes file = SmallFile(with_blobs);
    REQUIRE(ParseStatus(file).ok());
    for (size_t size = 0; size < file.size(); ++size) {
      const absl::Status status = ParseStatus(Bytes(file.begin(), file.begin() + size));
      if (!absl::IsDataLoss(status)) FAIL_CHECK("cut at ", size, ": ", status.ToString());
    }
    Bytes longer = file;
    longer.push_back(0);
    CHECK(absl::IsDataLoss(ParseStatus(longer)));
  }
}

TEST_CASE("a container with any byte flipped is refused") {
  for (bool with_blobs : {false, true}) {
    Bytes file = SmallFile(with_blobs);
    for (size_t i = 0; i < file.size(); ++i) {
      for (uint8_t mask : {0x01, 0x80, 0xff}) {
        file[i] ^= mask;
        const absl::Status status = ParseStatus(file);
        if (status.ok()) FAIL_CHECK("byte ", i, " flipped by ", int{mask}, " was not noticed");
        file[i] ^= mask;
      }
    }
  }
}

TEST_CASE("other kinds and newer versions are told apart from damage") {
  Bytes file = SmallFile(false);
  const auto graph = ContainerReader::Parse(FileKind::kGraph, Blob::Own(file), "t.oax");
  CHECK(absl::IsInvalidArgument(graph.status()));
  CHECK(Mentions(graph.status(), "OAX1"));
  CHECK(*ContainerReader::Sniff(file, "t") == FileKind::kPlan);
  file[4] = 2;
  CHECK(absl::IsInvalidArgument(ParseStatus(file)));
  CHECK(Mentions(ParseStatus(file), "newer"));
  std::memcpy(file.data(), "GGUF", 4);
  CHECK(absl::IsInvalidArgument(ParseStatus(file)));
}

TEST_CASE("overlapping blobs are found") {
  CHECK(CheckDisjoint({}, "f").ok());
  CHECK(CheckDisjoint({{512, 100}, {0, 512}, {256, 0}}, "f").ok());
  CHECK(absl::IsDataLoss(CheckDisjoint({{512, 100}, {0, 513}}, "f")));
  CHECK(absl::IsDataLoss(CheckDisjoint({{0, 1}, {0, 1}}, "f")));
}

TEST_CASE("files are written atomically and read back") {
  const TemporaryFolder folder;
  const std::string path = folder.File("x.oax");
  ContainerWriter writer(FileKind::kPlan);
  writer.Add(Blob::Own(Pattern(300, 1)));
  REQUIRE(writer.Write(path, Pattern(40, 9)).ok());
  const absl::StatusOr<Blob> file = ReadFile(path);
  REQUIRE(file.ok());
  CHECK(ToBytes(file->bytes()) == writer.Serialize(Pattern(40, 9)));

  // A mapped file keeps its content while it is replaced.
  REQUIRE(writer.Write(path, Pattern(80, 3)).ok());
  CHECK(ToBytes(file->bytes()) == writer.Serialize(Pattern(40, 9)));
  CHECK(folder.EntryCount() == 1);
}

TEST_CASE("file errors name the path and the reason") {
  const TemporaryFolder folder;
  const absl::Status missing = ReadFile(folder.File("x.oag")).status();
  CHECK(absl::IsNotFound(missing));
  CHECK(Mentions(missing, "x.oag': No such file or directory"));
  CHECK(Mentions(ReadFile(folder.File("")).status(), "folder"));

  const Bytes bytes = Pattern(4, 0);
  const absl::Span<const uint8_t> part = bytes;
  CHECK(absl::IsNotFound(WriteFileAtomically(folder.File("no/x"), absl::MakeConstSpan(&part, 1))));
  const absl::Status device = WriteFileAtomically("/dev/null", absl::MakeConstSpan(&part, 1));
  CHECK(Mentions(device, "not a regular file"));
  CHECK(folder.EntryCount() == 0);

  std::ofstream(folder.File("empty"));
  const absl::StatusOr<Blob> empty = ReadFile(folder.File("empty"));
  REQUIRE(empty.ok());
  CHECK(empty->empty());
}

TEST_CASE("a write that fails half-way leaves the old file alone") {
  const TemporaryFolder folder;
  const std::string path = folder.File("x");
  const Bytes old_bytes = Pattern(4, 0);
  const absl::Span<const uint8_t> old_part = old_bytes;
  REQUIRE(WriteFileAtomically(path, absl::MakeConstSpan(&old_part, 1)).ok());

  // A limit on file sizes stands for a full disk.
  rlimit limit;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Bytes bytes = Pattern(5000, 0);
  const absl::Span<const uint8_t> part = bytes;
  const absl::Status status = WriteFileAtomically(path, absl::MakeConstSpan(&part, 1));
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, old_handler);

  CHECK_FALSE(status.ok());
  CHECK(Mentions(status, path));
  CHECK(folder.EntryCount() == 1);
  CHECK(ToBytes(ReadFile(path)->bytes()) == old_bytes);
}

}  // namespace oa
