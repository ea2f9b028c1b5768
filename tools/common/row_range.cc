#include "tools/common/row_range.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

absl::Status Malformed(absl::string_view text) {
  return UsageError("'", text,
                    "' does not end with a row range; write [begin:end], for example [0:100], "
                    "[:100] or [-100:].");
}

// "" is an absent bound.
bool ParseBound(absl::string_view text, std::optional<int64_t>& bound) {
  if (text.empty()) return true;
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) return false;
  bound = value;
  return true;
}

// Position of `bound` in [0, rows], or nullopt when it lies outside.
std::optional<uint64_t> Position(std::optional<int64_t> bound, uint64_t rows, uint64_t absent) {
  if (!bound) return absent;
  if (*bound >= 0) {
    const uint64_t position = static_cast<uint64_t>(*bound);
    return position <= rows ? std::optional<uint64_t>(position) : std::nullopt;
  }
  const uint64_t back = uint64_t{0} - static_cast<uint64_t>(*bound);
  return back <= rows ? std::optional<uint64_t>(rows - back) : std::nullopt;
}

std::string RangeText(const RowRange& range) {
  std::string text = "[";
  if (range.begin) absl::StrAppend(&text, *range.begin);
  absl::StrAppend(&text, ":");
  if (range.end) absl::StrAppend(&text, *range.end);
  return text + "]";
}

}  // namespace

absl::StatusOr<PathAndRows> SplitRows(absl::string_view text) {
  PathAndRows result;
  if (!absl::EndsWith(text, "]")) {
    result.path = std::string(text);
    return result;
  }
  const size_t open = text.rfind('[');
  if (open == absl::string_view::npos) return Malformed(text);
  const absl::string_view range = text.substr(open + 1, text.size() - open - 2);
  const size_t colon = range.find(':');
  if (colon == absl::string_view::npos) return Malformed(text);
  RowRange rows;
  if (!ParseBound(range.substr(0, colon), rows.begin) ||
      !ParseBound(range.substr(colon + 1), rows.end)) {
    return Malformed(text);
  }
  result.path = std::string(text.substr(0, open));
  result.rows = rows;
  return result;
}

absl::StatusOr<ResolvedRows> ResolveRows(const RowRange& range, uint64_t rows,
                                         const std::string& name) {
  const std::optional<uint64_t> begin = Position(range.begin, rows, 0);
  const std::optional<uint64_t> end = Position(range.end, rows, rows);
  if (!begin || !end) {
    return UsageError("the row range ", RangeText(range), " leaves '", name, "', which has ", rows,
                      " rows.");
  }
  if (*begin >= *end) {
    return UsageError("the row range ", RangeText(range), " of '", name, "' (", rows,
                      " rows) is empty.");
  }
  return ResolvedRows{*begin, *end};
}

}  // namespace oa::tools
