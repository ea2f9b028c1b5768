// Extent expressions: how many elements of a buffer a kernel may touch, as a function of its scalar
// arguments and specialisation constants. A kernel's manifest row declares one per buffer
// ("rows * cols"); the plan verifier evaluates it and proves that no dispatch leaves its buffers.
//
// Grammar: integers, names, + - * /, comparison == != < >, parentheses, and the functions
// min(a,b), max(a,b), ceil_div(a,b). `/` rounds down; a comparison is 0 or 1. All arithmetic is
// checked, unsigned 64-bit: overflow, a negative difference and a division by zero are errors.
#ifndef OA_SCHEMA_EXTENT_EXPR_H_
#define OA_SCHEMA_EXTENT_EXPR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace oa {

// Value of a name, or nullopt when there is no such name.
using ExtentScope = std::function<std::optional<uint64_t>(absl::string_view name)>;

// InvalidArgument with the position when the text does not parse or a name is unknown;
// DataLoss when the arithmetic fails.
absl::StatusOr<uint64_t> EvaluateExtent(absl::string_view expression, const ExtentScope& scope);

}  // namespace oa

#endif  // OA_SCHEMA_EXTENT_EXPR_H_
