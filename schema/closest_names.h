// Suggestions for a name that was not found. Stateless.
#ifndef OA_SCHEMA_CLOSEST_NAMES_H_
#define OA_SCHEMA_CLOSEST_NAMES_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace oa {

// Levenshtein distance: insertions, deletions and replacements that turn `a` into `b`, or with
// `part` into the nearest part of `b`.
inline size_t EditDistance(absl::string_view a, absl::string_view b, bool part = false) {
  std::vector<size_t> row(b.size() + 1);
  if (!part) std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return part ? *std::min_element(row.begin(), row.end()) : row[b.size()];
}

// How far a user who typed `name` was from `candidate`: "atention" means many a longer name, too.
inline size_t NameDistance(absl::string_view name, absl::string_view candidate) {
  return std::min(EditDistance(name, candidate), EditDistance(name, candidate, /*part=*/true) + 2);
}

// "; the closest are 'a', 'b' and 'c'" without duplicates, or "" when there are no candidates.
inline std::string ClosestNames(absl::string_view name, std::vector<std::string> candidates) {
  // Only the beginning is compared: names in a damaged file may be long.
  constexpr size_t kCompared = 128;
  constexpr size_t kShown = 3;
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  if (candidates.empty()) return "";
  std::vector<std::pair<size_t, std::string>> ranked;
  for (std::string& candidate : candidates) {
    const size_t distance =
        NameDistance(name.substr(0, kCompared), absl::string_view(candidate).substr(0, kCompared));
    ranked.emplace_back(distance, std::move(candidate));
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), kShown));
  const auto quote = [](std::string* out, const auto& entry) {
    absl::StrAppend(out, "'", entry.second, "'");
  };
  return absl::StrCat("; the closest names are ", absl::StrJoin(ranked, ", ", quote));
}

}  // namespace oa

#endif  // OA_SCHEMA_CLOSEST_NAMES_H_
