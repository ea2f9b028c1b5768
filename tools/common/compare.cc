#include "tools/common/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "schema/status_macros.h"
#include "tools/common/element.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

absl::StatusOr<double> ParseBound(absl::string_view text, absl::string_view flag) {
  double value = 0;
  if (absl::SimpleAtod(text, &value) && std::isfinite(value) && value >= 0) return value;
  return UsageError(flag,
                    " takes a number that is not negative, or a list like f32=1e-4,bf16=1e-2;"
                    " '",
                    text, "' is neither.");
}

absl::StatusOr<std::map<DType, double>> ParseBounds(absl::string_view text,
                                                    absl::string_view flag) {
  std::map<DType, double> bounds;
  if (text.empty()) return bounds;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    OA_ASSIGN_OR_RETURN(const double bound, ParseBound(sides.back(), flag));
    if (sides.size() == 1) {
      bounds.emplace(DType::F32, bound);
      bounds.emplace(DType::BF16, bound);
      continue;
    }
    const std::optional<DType> dtype = ParseDType(sides[0]);
    if (!dtype) return UsageError(flag, ": '", sides[0], "' is not an element type.");
    bounds[*dtype] = bound;
  }
  return bounds;
}

double AbsoluteError(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  const double error = std::abs(got - expected);
  return std::isnan(error) ? kInfinity : error;
}

}  // namespace

absl::StatusOr<ToleranceOverrides> ToleranceOverrides::Parse(absl::string_view rtol,
                                                             absl::string_view atol) {
  ToleranceOverrides overrides;
  OA_ASSIGN_OR_RETURN(overrides.rtol_, ParseBounds(rtol, "--rtol"));
  OA_ASSIGN_OR_RETURN(overrides.atol_, ParseBounds(atol, "--atol"));
  return overrides;
}

Tolerance ToleranceOverrides::Apply(DType dtype, Tolerance stored) const {
  if (const auto it = rtol_.find(dtype); it != rtol_.end()) stored.rtol = it->second;
  if (const auto it = atol_.find(dtype); it != atol_.end()) stored.atol = it->second;
  return stored;
}

absl::StatusOr<Comparison> Compare(DType dtype, absl::Span<const uint8_t> got,
                                   absl::Span<const uint8_t> expected, Tolerance tolerance) {
  if (got.size() != expected.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the value has ", got.size(), " bytes where ",
                                                   expected.size(), " are expected."));
  }
  const uint64_t width = SizeOf(dtype);
  const bool exact = tolerance.atol == 0 && tolerance.rtol == 0;
  Comparison result;
  result.count = got.size() / width;
  double worst_excess = -kInfinity;
  for (uint64_t i = 0; i < result.count; ++i) {
    const double value = ElementAt(dtype, got, i);
    const double wanted = ElementAt(dtype, expected, i);
    const double error = AbsoluteError(value, wanted);
    result.max_abs = std::max(result.max_abs, error);
    if (wanted != 0 && error > 0)
      result.max_rel = std::max(result.max_rel, error / std::abs(wanted));
    const bool same_bits =
        std::memcmp(got.data() + i * width, expected.data() + i * width, width) == 0;
    // An infinite expected value would make the bound infinite and hide any error.
    const double bound =
        tolerance.atol + (std::isfinite(wanted) ? tolerance.rtol * std::abs(wanted) : 0);
    const bool agrees = same_bits || (!exact && error <= bound);
    if (agrees) continue;
    ++result.mismatches;
    const double excess = error - bound;
    if (excess > worst_excess) {
      worst_excess = excess;
      result.worst = i;
    }
  }
  return result;
}

std::string MismatchText(DType dtype, absl::Span<const uint8_t> got,
                         absl::Span<const uint8_t> expected, const Comparison& comparison) {
  return absl::StrCat("element ", comparison.worst, " is ",
                      ElementText(dtype, got, comparison.worst), ", expected ",
                      ElementText(dtype, expected, comparison.worst));
}

}  // namespace oa::tools
