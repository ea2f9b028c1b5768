// Reads the recording API's declarations from its headers, so that the reference page shows them
// without repeating them.
#ifndef OA_TOOLS_DOCS_SIGNATURES_H_
#define OA_TOOLS_DOCS_SIGNATURES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace oa::tools {

// Function name -> "Result<Matrix> oa::matrix::add(const Matrix& a, const Matrix& b)", one for each
// namespace that has the function.
using Signatures = std::map<std::string, std::vector<std::string>>;

// Adds the functions of one header that return a Result at namespace scope.
void AddSignatures(absl::string_view header, Signatures& signatures);

// Of all headers in `folder`; NotFound when there are none.
absl::StatusOr<Signatures> ReadSignatures(const std::string& folder);

}  // namespace oa::tools

#endif  // OA_TOOLS_DOCS_SIGNATURES_H_
