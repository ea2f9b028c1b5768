// Gives every named input of a plan its bytes.
#ifndef OA_TOOLS_COMMON_BIND_INPUTS_H_
#define OA_TOOLS_COMMON_BIND_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schema/plan.h"
#include "tools/common/tensor_arg.h"

namespace oa::tools {

// Bytes by input name; the same type as the executor's InputMap.
using ByteViews = absl::flat_hash_map<std::string, absl::Span<const uint8_t>>;

// Owns the bytes that a ByteViews refers to.
using BoundInputs = absl::flat_hash_map<std::string, Blob>;

// The input or output called `name`. A usage error with the nearest names when there is none;
// `what` is "input" or "output".
absl::StatusOr<const PlanIo*> FindIo(const std::vector<PlanIo>& list, const std::string& name,
                                     const std::string& what);

struct BindOptions {
  std::vector<std::string> provided_elsewhere;  // inputs that must not be given here
  bool random_when_missing = false;             // see RandomTensor; the seed is the input's index
};

// Usage errors: unknown or repeated names, missing inputs (all of them are listed with types).
absl::StatusOr<BoundInputs> BindInputs(const Plan& plan, absl::Span<const TensorArg> args,
                                       const BindOptions& options);

ByteViews ViewsOf(const BoundInputs& inputs);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_BIND_INPUTS_H_
