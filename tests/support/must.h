// Values of calls that a test needs to succeed.
#ifndef OA_TESTS_SUPPORT_MUST_H_
#define OA_TESTS_SUPPORT_MUST_H_

#include <doctest/doctest.h>

#include <utility>

#include "absl/status/statusor.h"

namespace oa::testing {

// The value, or the end of the test with its status.
template <class T>
T Must(absl::StatusOr<T> value) {
  REQUIRE_MESSAGE(value.ok(), value.status().ToString());
  return *std::move(value);
}

}  // namespace oa::testing

#endif  // OA_TESTS_SUPPORT_MUST_H_
