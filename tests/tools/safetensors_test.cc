// safetensors files: bytes of the Python package, round trips and damage.
#include "tools/common/safetensors.h"

#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

using testing::Bytes;
using testing::ReadText;
using testing::TempFolder;

std::string MakeFile(std::string header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> (8 * i)));
  return file + header + data;
}

// What safetensors 0.8.0 writes for b.weight [[1.5, -2]] f32, n [7] u32, a [1, 2, 3] u8.
std::string PythonFile() {
  const std::string header =
      R"({"__metadata__":{"k":"v"},"b.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("n":{"dtype":"U32","shape":[1],"data_offsets":[8,12]},)"
      R"("a":{"dtype":"U8","shape":[3],"data_offsets":[12,15]}}    )";
  return MakeFile(header, std::string("\0\0\xc0?\0\0\0\xc0\x07\0\0\0\x01\x02\x03", 15));
}

absl::StatusOr<Safetensors> Parse(const std::string& file) {
  return ParseSafetensors(Blob::Own(Bytes(file)), "w.safetensors");
}

TEST_CASE("safetensors: reads and reproduces a file of the Python package") {
  const absl::StatusOr<Safetensors> file = Parse(PythonFile());
  REQUIRE_MESSAGE(file.ok(), file.status().message());
  REQUIRE_EQ(file->tensors.size(), 3);
  CHECK_EQ(file->metadata.at("k"), "v");
  const Tensor* weight = file->Find("b.weight");
  REQUIRE(weight != nullptr);
  CHECK(weight->shape == Shape{1, 2});
  CHECK_EQ(weight->dtype, DType::F32);
  CHECK(file->Find("c") == nullptr);

  const TempFolder folder;
  const std::string path = folder.File("w.safetensors");
  REQUIRE(WriteSafetensors(path, *file).ok());
  CHECK_EQ(ReadText(path), PythonFile());
}

TEST_CASE("safetensors: widest elements first, all types, empty tensors") {
  Safetensors content;
  content.tensors.push_back({"bytes", DType::U8, {3}, Blob::Own({1, 2, 3})});
  content.tensors.push_back({"half", DType::BF16, {1}, Blob::Own({0, 0x3F})});
  content.tensors.push_back({"none", DType::F32, {0, 4}, Blob()});
  content.tensors.push_back({"whole \"quoted\"", DType::I32, {1}, Blob::Own({1, 0, 0, 0})});
  const TempFolder folder;
  const std::string path = folder.File("all.safetensors");
  REQUIRE(WriteSafetensors(path, content).ok());
  CHECK_EQ(ReadText(path).find('{'), 8);
  const auto read = ReadSafetensors(path);
  REQUIRE_MESSAGE(read.ok(), read.status().message());
  REQUIRE_EQ(read->tensors.size(), 4);
  for (const Tensor& tensor : content.tensors) {
    const Tensor* same = read->Find(tensor.name);
    REQUIRE(same != nullptr);
    CHECK_EQ(same->dtype, tensor.dtype);
    CHECK(same->shape == tensor.shape);
    CHECK(same->data.bytes() == tensor.data.bytes());
  }
}

TEST_CASE("safetensors: a file cut at any byte is refused") {
  const std::string whole = PythonFile();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto file = Parse(whole.substr(0, size));
    REQUIRE_FALSE(file.ok());
    CHECK_EQ(file.status().code(), absl::StatusCode::kDataLoss);
    CHECK(absl::StrContains(file.status().message(), "w.safetensors"));
  }
  CHECK_FALSE(Parse(whole + "x").ok());
}

TEST_CASE("safetensors: flipped bytes never crash") {
  const std::string whole = PythonFile();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int value : {0x00, 0xFF, int{'"'}, int{'{'}, int{'9'}}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(value);
      const auto file = Parse(damaged);
      if (!file.ok()) CHECK_EQ(ExitCodeOf(file.status()), kExitFile);
    }
  }
}

TEST_CASE("safetensors: wrong sizes, overlaps, gaps and duplicates") {
  const auto entry = [](const char* name, const char* shape, int begin, int end) {
    return absl::StrCat("\"", name, "\":{\"dtype\":\"F32\",\"shape\":", shape,
                        ",\"data_offsets\":[", begin, ",", end, "]}");
  };
  const std::string data(16, '\0');
  const auto message = [&](const std::string& entries) {
    return std::string(Parse(MakeFile("{" + entries + "}", data)).status().message());
  };
  const auto two = [&](int begin, int end) {
    return entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", begin, end);
  };
  CHECK_EQ(message(two(8, 16)), "");
  CHECK(absl::StrContains(message(two(4, 12)), "overlap"));
  CHECK(
      absl::StrContains(message(entry("a", "[2]", 0, 8) + "," + entry("b", "[1]", 12, 16)), "gap"));
  CHECK(absl::StrContains(message(entry("a", "[3]", 0, 16)), "does not have the size"));
  CHECK(absl::StrContains(message(entry("a", "[2]", 0, 8)), "16 follow"));
  CHECK(absl::StrContains(message(entry("a", "[4611686018427387904,4]", 0, 16)), "size"));
  CHECK(absl::StrContains(message(entry("a", "[-1]", 0, 16)), "malformed"));
  CHECK(absl::StrContains(message(entry("a", "[2]", 8, 0)), "does not have the size"));
  CHECK(absl::StrContains(message(two(8, 16) + "," + entry("a", "[2]", 0, 8)), "twice"));
  const std::string half = absl::StrReplaceAll(two(8, 16), {{"F32", "F16"}});
  CHECK(absl::StrContains(message(half), "F16"));
}

}  // namespace
}  // namespace oa::tools
