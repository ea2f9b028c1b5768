// Single words of persistent state set on the command line: "--set adamw.hyper[1]=1e-4".
#ifndef OA_TOOLS_COMMON_SET_ELEMENT_H_
#define OA_TOOLS_COMMON_SET_ELEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "schema/dtype.h"

namespace oa::tools {

struct SetArg {
  std::string name;
  std::optional<uint64_t> index;  // may be left out for values of one element
  std::string value;
};

absl::StatusOr<SetArg> ParseSetArg(absl::string_view text);

// Overwrites one element. Optimiser states keep floats as the bits of U32 words, so a number with
// a point or an exponent ("1e-4", "0.0") sets the F32 bits of a U32 element, and an integer its
// value.
absl::Status SetElement(const SetArg& arg, DType dtype, std::vector<uint8_t>& bytes);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_SET_ELEMENT_H_
