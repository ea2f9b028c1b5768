#include "schema/dtype.h"

#include <doctest/doctest.h>

namespace oa {

TEST_CASE("dtype names and sizes") {
  const struct {
    DType dtype;
    absl::string_view name;
    uint64_t size;
  } rows[] = {{F32, "f32", 4}, {I32, "i32", 4}, {U32, "u32", 4}, {U8, "u8", 1}, {BF16, "bf16", 2}};
  for (const auto& row : rows) {
    CHECK(DTypeName(row.dtype) == row.name);
    CHECK(SizeOf(row.dtype) == row.size);
    CHECK(ParseDType(row.name) == row.dtype);
  }
  CHECK_FALSE(ParseDType("f16").has_value());
  CHECK_FALSE(ParseDType("").has_value());
}

TEST_CASE("element counts and byte sizes are checked") {
  CHECK(*ElementCount({}) == 1);
  CHECK(*ElementCount({2, 3, 4}) == 24);
  CHECK(*ElementCount({2, 0, 4}) == 0);
  CHECK(*ByteSize(BF16, {3, 5}) == 30);
  const uint64_t big = uint64_t{1} << 32;
  CHECK(absl::IsResourceExhausted(ElementCount({big, big}).status()));
  CHECK(*ElementCount({big, big / 2}) == uint64_t{1} << 63);
  CHECK(absl::IsResourceExhausted(ByteSize(F32, {big, big / 2}).status()));
}

TEST_CASE("type text") {
  CHECK(ShapeText({}) == "[]");
  CHECK(ShapeText({2, 3}) == "[2, 3]");
  CHECK(TypeText(U8, {7}) == "u8[7]");
}

}  // namespace oa
