// Between the oracle's doubles and the bytes of values.
#ifndef OA_TESTS_SUPPORT_TENSORS_H_
#define OA_TESTS_SUPPORT_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tests/reference/reference.h"

namespace oa::testing {

// A tensor filled as the specification says; every F32 value is representable in F32.
// `seed` makes the values of different operands and samples different.
reference::Tensor Fill(const reference::InputSpec& spec, uint64_t seed);

std::vector<uint8_t> ToBytes(const reference::Tensor& tensor);
reference::Tensor FromBytes(DType dtype, const Shape& shape, absl::Span<const uint8_t> bytes);

// "" when every element agrees, else a sentence about the worst one.
std::string Compare(const reference::Tensor& got, const reference::Tensor& expected,
                    reference::Tolerance tolerance);

}  // namespace oa::testing

#endif  // OA_TESTS_SUPPORT_TENSORS_H_
