// Comparing outputs with expected values. Stateless.
#ifndef OA_TOOLS_COMMON_COMPARE_H_
#define OA_TOOLS_COMMON_COMPARE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "schema/dtype.h"

namespace oa::tools {

// |got - expected| <= atol + rtol * |expected|. Both zero: bit for bit.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
};

// Tolerances by element type, from --rtol and --atol: "1e-4", or "f32=1e-4,bf16=1e-2". A plain
// number holds for the float types; integers are compared exactly unless they are named.
class ToleranceOverrides {
 public:
  // An empty text leaves everything as it is.
  static absl::StatusOr<ToleranceOverrides> Parse(absl::string_view rtol, absl::string_view atol);

  // `stored` with what was overridden for `dtype`.
  Tolerance Apply(DType dtype, Tolerance stored) const;

 private:
  std::map<DType, double> rtol_;
  std::map<DType, double> atol_;
};

struct Comparison {
  uint64_t count = 0;
  uint64_t mismatches = 0;
  double max_abs = 0;  // over all elements; infinite when one is NaN or infinite and they differ
  double max_rel = 0;  // over elements whose expected value is not zero
  uint64_t worst = 0;  // index of the element that exceeds its tolerance the most
  bool ok() const { return mismatches == 0; }
};

// InvalidArgument when the sizes differ. NaN agrees with NaN, an infinity with itself.
absl::StatusOr<Comparison> Compare(DType dtype, absl::Span<const uint8_t> got,
                                   absl::Span<const uint8_t> expected, Tolerance tolerance);

// "element 17 is 0.25, expected 0.5".
std::string MismatchText(DType dtype, absl::Span<const uint8_t> got,
                         absl::Span<const uint8_t> expected, const Comparison& comparison);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_COMPARE_H_
