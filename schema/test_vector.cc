#include "schema/test_vector.h"

#include "absl/strings/str_cat.h"

namespace oa {

std::string TestTensorProblem(const std::vector<TestTensor>& tensors,
                              absl::flat_hash_map<absl::string_view, uint64_t> sizes,
                              absl::string_view table, absl::string_view owner) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TestTensor& tensor = tensors[i];
    const std::string which = absl::StrCat(table, "[", i, "]");
    const auto found = sizes.find(tensor.name);
    if (found == sizes.end()) {
      return absl::StrCat(which, " names '", tensor.name, "', which is not among the ", owner,
                          "'s ", table, " or appears twice");
    }
    if (tensor.data.size() != found->second) {
      return absl::StrCat(which, " '", tensor.name, "' has ", tensor.data.size(),
                          " bytes, expected ", found->second);
    }
    // Written so that NaN is refused too.
    if (!(tensor.atol >= 0 && tensor.rtol >= 0)) {
      return absl::StrCat(which, " '", tensor.name, "' has a negative or undefined tolerance");
    }
    sizes.erase(found);
  }
  return "";
}

}  // namespace oa
