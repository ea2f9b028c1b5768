#include "schema/extent_expr.h"

#include <doctest/doctest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace oa {
namespace {

absl::StatusOr<uint64_t> Evaluate(absl::string_view text) {
  return EvaluateExtent(text, [](absl::string_view name) -> std::optional<uint64_t> {
    if (name == "rows") return 3;
    if (name == "cols") return 5;
    if (name == "zero") return 0;
    if (name == "huge") return UINT64_MAX;
    return std::nullopt;
  });
}

bool Mentions(const absl::Status& status, absl::string_view text) {
  return std::string(status.message()).find(std::string(text)) != std::string::npos;
}

}  // namespace

TEST_CASE("extent expressions evaluate") {
  const struct {
    absl::string_view text;
    uint64_t value;
  } rows[] = {
      {"0", 0},
      {"18446744073709551615", UINT64_MAX},
      {"rows * cols", 15},
      {" ( rows+1 )*cols ", 20},
      {"2 + 3 * 4", 14},
      {"20 - 5 - 3", 12},
      {"20 / 3 / 2", 3},
      {"7 / 2", 3},
      {"ceil_div(7, 2)", 4},
      {"ceil_div(huge, 2)", uint64_t{1} << 63},
      {"min(rows, cols) + max(rows, cols)", 8},
      {"rows == 3", 1},
      {"rows != 3", 0},
      {"rows < cols", 1},
      {"rows > cols", 0},
      {"(zero != 0) * rows", 0},
      {"max(1, (zero == 0) * cols)", 5},
  };
  for (const auto& row : rows) {
    CAPTURE(std::string(row.text));
    const absl::StatusOr<uint64_t> value = Evaluate(row.text);
    REQUIRE(value.ok());
    CHECK(*value == row.value);
  }
}

TEST_CASE("extent expressions that do not parse are refused with the position") {
  for (absl::string_view text : {"",
                                 " ",
                                 "1 +",
                                 "* 2",
                                 "(1",
                                 "1)",
                                 "1 2",
                                 "rows cols",
                                 "nothing",
                                 "f(1, 2)",
                                 "min(1)",
                                 "min(1, 2",
                                 "min(1, 2, 3)",
                                 "1 = 1",
                                 "1 & 2",
                                 "-1",
                                 "18446744073709551616",
                                 "1.5",
                                 "a$b",
                                 "1 / zero + nothing"}) {
    CAPTURE(std::string(text));
    const absl::Status status = Evaluate(text).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK(Mentions(status, "position"));
  }
  CHECK(Mentions(Evaluate("rows * colz").status(), "'colz' at position 7"));
}

TEST_CASE("failing arithmetic is data loss") {
  for (absl::string_view text :
       {"huge + 1", "huge * 2", "1 - 2", "rows - cols", "1 / zero", "ceil_div(1, zero)"}) {
    CAPTURE(std::string(text));
    CHECK(absl::IsDataLoss(Evaluate(text).status()));
  }
}

TEST_CASE("long and deep expressions do not exhaust the stack") {
  CHECK(absl::IsInvalidArgument(Evaluate(std::string(100000, '(')).status()));
  CHECK(absl::IsInvalidArgument(Evaluate(std::string(2000, '(')).status()));
  const std::string nested = absl::StrCat(std::string(30, '('), "1", std::string(30, ')'));
  CHECK(*Evaluate(nested) == 1);
}

}  // namespace oa
