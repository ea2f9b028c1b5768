#include "schema/fnv.h"

#include <doctest/doctest.h>

namespace oa {

TEST_CASE("FNV-1a 64 agrees with the published test vectors") {
  const struct {
    absl::string_view text;
    uint64_t hash;
  } rows[] = {{"", 0xcbf29ce484222325}, {"a", 0xaf63dc4c8601ec8c}, {"foobar", 0x85944171f73967e8}};
  for (const auto& row : rows) {
    Fnv1a64 hash;
    hash.Text(row.text);
    CHECK(hash.value() == row.hash);
  }
}

TEST_CASE("words are hashed low byte first, 64-bit values low word first") {
  Fnv1a64 word;
  word.Word(0x64636261);
  Fnv1a64 text;
  text.Text("abcd");
  CHECK(word.value() == text.value());

  Fnv1a64 wide;
  wide.Word64(0x0000000200000001);
  Fnv1a64 halves;
  halves.Word(1);
  halves.Word(2);
  CHECK(wide.value() == halves.value());

  Fnv1a64 real;
  real.Float(1.0f);
  Fnv1a64 bits;
  bits.Word(0x3f800000);
  CHECK(real.value() == bits.value());
}

}  // namespace oa
