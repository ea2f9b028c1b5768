// Routes: operators that can be lowered in more than one way name them in their rows
// (OpDef::routes). The lowering chooses by shape and device; a compilation may choose for it, to
// compare routes or to find a fault.
#ifndef OA_IR_ROUTES_H_
#define OA_IR_ROUTES_H_

#include <map>
#include <string>

#include "absl/status/status.h"

namespace oa::ir {

using Routes = std::map<std::string, std::string>;  // operator -> route

// InvalidArgument when an operator does not exist or has no such route.
absl::Status CheckRoutes(const Routes& routes);

}  // namespace oa::ir

#endif  // OA_IR_ROUTES_H_
