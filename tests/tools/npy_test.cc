// NPY files: headers NumPy writes, damage at every byte, checked conversions, rows.
#include "tools/common/npy.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/element.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

using testing::Bytes;
using testing::TempFolder;

// A version 1 file with the given dictionary fields and raw elements.
template <class T>
Blob MakeFile(const std::string& descr, const std::string& shape, const std::vector<T>& elements,
              const std::string& order = "False", int version = 1) {
  const std::string dict = absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order,
                                        ", 'shape': ", shape, ", }\n");
  std::string file = "\x93NUMPY";
  file.push_back(static_cast<char>(version));
  file.push_back('\0');
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<char>(dict.size() >> (8 * i)));
  }
  file += dict;
  file.append(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  return Blob::Own(Bytes(file));
}

template <class T>
absl::StatusOr<Blob> Convert(const std::string& descr, const std::vector<T>& elements,
                             DType wanted) {
  absl::StatusOr<NpyArray> array =
      ParseNpy(MakeFile(descr, absl::StrCat("(", elements.size(), ",)"), elements), "a.npy");
  REQUIRE_MESSAGE(array.ok(), array.status().message());
  return ConvertElements(*array, wanted);
}

TEST_CASE("npy: every element type survives a round trip") {
  const TempFolder folder;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    const Shape shape = {2, 3};
    std::vector<uint8_t> bytes(6 * SizeOf(dtype));
    for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<uint8_t>(k * 37 + 1);
    const std::string path = folder.File(absl::StrCat("x", i, ".npy"));
    REQUIRE(WriteNpy(path, dtype, shape, bytes).ok());
    const absl::StatusOr<NpyArray> array = ReadNpy(path);
    REQUIRE_MESSAGE(array.ok(), array.status().message());
    CHECK(array->header.shape == shape);
    CHECK_EQ(array->header.data_offset % 64, 0);
    const absl::StatusOr<Blob> data = ConvertElements(*array, dtype);
    REQUIRE(data.ok());
    CHECK(data->bytes() == absl::MakeConstSpan(bytes));
    // The same type is a view of the file, not a copy.
    CHECK_EQ(data->bytes().data(), array->data.bytes().data());
  }
}

TEST_CASE("npy: the header is what NumPy writes") {
  const std::string header = MakeNpyHeader(DType::I32, {2});
  CHECK_EQ(header.size(), 128);
  CHECK(absl::StartsWith(header, absl::string_view("\x93NUMPY\x01\x00v\x00", 10)));
  CHECK(absl::StrContains(header, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }"));
  CHECK(absl::StrContains(MakeNpyHeader(DType::F32, {2, 3}), "'shape': (2, 3), }"));
  CHECK(absl::StrContains(MakeNpyHeader(DType::F32, {}), "'shape': (), }"));
}

TEST_CASE("npy: versions 2 and 3, rank 0 and no elements") {
  for (int version : {2, 3}) {
    CHECK(ParseNpy(MakeFile<float>("<f4", "(2,)", {1, 2}, "False", version), "v").ok());
  }
  const auto scalar = ParseNpy(MakeFile<double>("<f8", "()", {3}), "s");
  REQUIRE(scalar.ok());
  CHECK(scalar->header.shape.empty());
  CHECK(ParseNpy(MakeFile<float>("<f4", "(0, 4)", {}), "e").ok());
}

TEST_CASE("npy: a file cut at any byte is refused") {
  const Blob whole = MakeFile<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto part = whole.bytes().first(size);
    const auto array = ParseNpy(Blob::Own({part.begin(), part.end()}), "cut.npy");
    REQUIRE_FALSE(array.ok());
    CHECK_EQ(ExitCodeOf(array.status()), kExitFile);
    CHECK(absl::StrContains(array.status().message(), "cut.npy"));
  }
}

TEST_CASE("npy: flipped header bytes never crash") {
  const Blob whole = MakeFile<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  for (size_t i = 0; i < whole.size(); ++i) {
    for (uint8_t value : {0x00, 0xFF, 0x27, 0x28, 0x39}) {
      std::vector<uint8_t> bytes(whole.bytes().begin(), whole.bytes().end());
      bytes[i] = value;
      const auto array = ParseNpy(Blob::Own(std::move(bytes)), "x");
      if (array.ok()) CHECK_LE(array->data.size(), whole.size());
    }
  }
}

TEST_CASE("npy: sizes that overflow are refused") {
  for (const char* shape : {"(18446744073709551615, 2)", "(4294967296, 4294967296)",
                            "(99999999999999999999,)", "(4611686018427387904,)"}) {
    const auto array = ParseNpy(MakeFile<float>("<f4", shape, {1}), "x");
    REQUIRE_FALSE(array.ok());
    CHECK_EQ(array.status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("npy: what is not read says what to do") {
  const auto message = [](const Blob& file) {
    const auto array = ParseNpy(file, "x.npy");
    REQUIRE_FALSE(array.ok());
    CHECK_EQ(ExitCodeOf(array.status()), kExitFile);
    return std::string(array.status().message());
  };
  const std::vector<float> two = {1, 2};
  CHECK(absl::StrContains(message(MakeFile("<f4", "(2,)", two, "True")), "np.ascontiguousarray"));
  CHECK(absl::StrContains(message(MakeFile(">f4", "(2,)", two)), "newbyteorder"));
  CHECK(absl::StrContains(message(MakeFile("<f2", "(4,)", two)), "astype(np.float32)"));
  CHECK(absl::StrContains(message(MakeFile("|O", "(1,)", two)), "'|O'"));
  CHECK(absl::StrContains(message(MakeFile("<c8", "(1,)", two)), "only numbers"));
}

TEST_CASE("npy: integers are narrowed when every element fits") {
  const auto good = Convert<int64_t>("<i8", {0, 255, 7}, DType::U8);
  REQUIRE(good.ok());
  CHECK(good->bytes() == absl::MakeConstSpan(std::vector<uint8_t>{0, 255, 7}));
  const auto bad = Convert<int64_t>("<i8", {0, 300, -1}, DType::U8);
  REQUIRE_FALSE(bad.ok());
  CHECK_EQ(bad.status().message(), "element 1 of 'a.npy' is 300, which does not fit u8.");
  CHECK_EQ(ExitCodeOf(bad.status()), kExitUsage);
  CHECK(Convert<int8_t>("|i1", {-1}, DType::I32).ok());
  CHECK_FALSE(Convert<int8_t>("|i1", {-1}, DType::U32).ok());
  CHECK_FALSE(Convert<uint64_t>("<u8", {uint64_t{1} << 32}, DType::U32).ok());
  CHECK_FALSE(Convert<uint32_t>("<u4", {0x80000000u}, DType::I32).ok());
  CHECK(Convert<uint8_t>("|b1", {0, 1}, DType::F32).ok());
}

TEST_CASE("npy: F32 takes rounded doubles and exact integers only") {
  const auto rounded = Convert<double>("<f8", {0.1, 1e300 * 1e10}, DType::F32);
  REQUIRE(rounded.ok());  // infinity stays infinity
  CHECK_EQ(ElementAt(DType::F32, rounded->bytes(), 0), static_cast<double>(0.1f));
  CHECK_FALSE(Convert<double>("<f8", {1e39}, DType::F32).ok());
  CHECK(Convert<int64_t>("<i8", {16777216, -33554432}, DType::F32).ok());
  CHECK_FALSE(Convert<int64_t>("<i8", {16777217}, DType::F32).ok());
  CHECK(Convert<int64_t>("<i8", {std::numeric_limits<int64_t>::min()}, DType::F32).ok());
}

TEST_CASE("npy: floats never become integers, BF16 comes from floats or raw bits") {
  const auto status = Convert<float>("<f4", {1}, DType::I32).status();
  CHECK(absl::StrContains(status.message(), "astype(np.int32)"));
  const auto bits = Convert<uint16_t>("<u2", {0x3F80}, DType::BF16);
  REQUIRE(bits.ok());
  CHECK_EQ(ElementAt(DType::BF16, bits->bytes(), 0), 1.0);
  const auto rounded = Convert<float>("<f4", {1.00390625f, 1.01171875f}, DType::BF16);
  REQUIRE(rounded.ok());
  CHECK_EQ(ElementAt(DType::BF16, rounded->bytes(), 0), 1.0);       // tie to even
  CHECK_EQ(ElementAt(DType::BF16, rounded->bytes(), 1), 1.015625);  // tie to even, upwards
}

TEST_CASE("npy: rows like Python's, but never outside the file") {
  const auto array = ParseNpy(MakeFile<float>("<f4", "(4, 2)", {0, 1, 2, 3, 4, 5, 6, 7}), "r.npy");
  REQUIRE(array.ok());
  const auto first_of = [&](const std::string& range) {
    const auto split = SplitRows("r.npy" + range);
    REQUIRE_MESSAGE(split.ok(), split.status().message());
    REQUIRE(split->rows.has_value());
    const auto rows = TakeRows(*array, *split->rows);
    return rows.ok() ? absl::StrCat(ElementAt(DType::F32, rows->data.bytes(), 0), " x ",
                                    rows->header.shape[0])
                     : std::string(rows.status().message());
  };
  CHECK_EQ(first_of("[1:3]"), "2 x 2");
  CHECK_EQ(first_of("[:1]"), "0 x 1");
  CHECK_EQ(first_of("[-1:]"), "6 x 1");
  CHECK_EQ(first_of("[:]"), "0 x 4");
  CHECK_EQ(first_of("[-3:-1]"), "2 x 2");
  CHECK(absl::StrContains(first_of("[0:5]"), "leaves 'r.npy', which has 4 rows"));
  CHECK(absl::StrContains(first_of("[-5:]"), "leaves"));
  CHECK(absl::StrContains(first_of("[2:2]"), "is empty"));
  CHECK_FALSE(SplitRows("x.npy[3]").ok());
  CHECK_FALSE(SplitRows("x.npy[a:b]").ok());
  CHECK_FALSE(SplitRows("x.npy]").ok());
  CHECK_EQ(SplitRows("plain.npy")->path, "plain.npy");
}

}  // namespace
}  // namespace oa::tools
