// Moves parameters and states between sessions and safetensors files.
#ifndef OA_TOOLS_RUN_PERSISTENT_H_
#define OA_TOOLS_RUN_PERSISTENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/session.h"
#include "schema/plan.h"
#include "tools/common/safetensors.h"
#include "tools/common/set_element.h"

namespace oa::tools {

enum class PersistentSet {
  kParameters,  // --params, --save-params: what other programs understand
  kAll,         // --state, --save-state: parameters and states, to resume exactly
};

// Names what `file` has too much; missing or differing tensors are errors with exit code 3.
// Nothing is written when there is an error.
absl::StatusOr<std::vector<std::string>> CheckTensors(const Plan& plan, const Safetensors& file,
                                                      const std::string& path, PersistentSet set);

// Pre-condition: CheckTensors is OK.
absl::Status WriteTensors(exec::Session& session, const Plan& plan, const Safetensors& file,
                          PersistentSet set);

// Reads everything from the device, then writes the file atomically; returns how many tensors.
absl::StatusOr<size_t> SaveTensors(exec::Session& session, const Plan& plan,
                                   const std::string& path, PersistentSet set);

// Usage errors: unknown name (with the nearest), wrong index or number.
absl::Status CheckSetArgs(const Plan& plan, absl::Span<const SetArg> args);
absl::Status ApplySetArgs(exec::Session& session, const Plan& plan, absl::Span<const SetArg> args);

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_PERSISTENT_H_
