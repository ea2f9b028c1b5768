// Single elements of a tensor's bytes. Stateless. Index and dtype must fit the bytes.
#ifndef OA_TOOLS_COMMON_ELEMENT_H_
#define OA_TOOLS_COMMON_ELEMENT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "schema/dtype.h"

namespace oa::tools {

// bfloat16 is the upper half of an F32; rounding is to nearest even, NaN stays NaN.
float Bf16ToFloat(uint16_t bits);
uint16_t FloatToBf16(float value);

// Every element type fits a double exactly.
double ElementAt(DType dtype, absl::Span<const uint8_t> bytes, uint64_t index);

// Shortest text that is read back as the same element: "0.1", "-3".
std::string ElementText(DType dtype, absl::Span<const uint8_t> bytes, uint64_t index);

// The first `limit` elements: "1 2 3 ..".
std::string FirstElements(DType dtype, absl::Span<const uint8_t> bytes, uint64_t limit);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_ELEMENT_H_
