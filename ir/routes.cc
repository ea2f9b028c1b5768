#include "ir/routes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/op.h"

namespace oa::ir {

absl::Status CheckRoutes(const Routes& routes) {
  for (const auto& [name, route] : routes) {
    const OpDef* op = FindOp(name);
    if (op == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("no operator is called '", name, "'", NearestOps(name)));
    }
    const auto& known = op->routes;
    if (std::find(known.begin(), known.end(), route) != known.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has no route '", route, "'; ",
                     known.empty() ? "it has only one" : "it has " + absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace oa::ir
