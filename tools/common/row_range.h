// Row ranges behind a file name: "digits.npy[0:1437]". Stateless.
#ifndef OA_TOOLS_COMMON_ROW_RANGE_H_
#define OA_TOOLS_COMMON_ROW_RANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace oa::tools {

// Half-open along the first axis; a negative bound counts from the end, an absent one is the end.
struct RowRange {
  std::optional<int64_t> begin;
  std::optional<int64_t> end;
};

struct PathAndRows {
  std::string path;
  std::optional<RowRange> rows;
};

// Splits "path[a:b]". A text that ends with ']' must have a valid range.
absl::StatusOr<PathAndRows> SplitRows(absl::string_view text);

struct ResolvedRows {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Unlike Python, a range that leaves the file is an error: it is a mistake more often than a wish.
absl::StatusOr<ResolvedRows> ResolveRows(const RowRange& range, uint64_t rows,
                                         const std::string& name);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_ROW_RANGE_H_
