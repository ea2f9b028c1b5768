// Early return for absl::Status and absl::StatusOr. The debian release of Abseil has none.
#ifndef OA_SCHEMA_STATUS_MACROS_H_
#define OA_SCHEMA_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace oa {

// A value, or the reason why there is none.
template <class T>
using Result = absl::StatusOr<T>;

// The same error with "context: " before its message; OK stays OK.
inline absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace oa

#define OA_CONCAT_INNER_(a, b) a##b
#define OA_CONCAT_(a, b) OA_CONCAT_INNER_(a, b)

// Returns from the enclosing function when `expression` is an error.
#define OA_RETURN_IF_ERROR(expression)                  \
  do {                                                  \
    absl::Status oa_status_ = (expression);             \
    if (!oa_status_.ok()) return oa_status_;            \
  } while (false)

// OA_ASSIGN_OR_RETURN(auto x, F()) declares x from F()'s value or returns its error.
#define OA_ASSIGN_OR_RETURN(declaration, expression) \
  OA_ASSIGN_OR_RETURN_IMPL_(OA_CONCAT_(oa_result_, __LINE__), declaration, expression)
#define OA_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return std::move(result).status();             \
  declaration = *std::move(result)

#endif  // OA_SCHEMA_STATUS_MACROS_H_
