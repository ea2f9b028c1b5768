// The half of VerifyPlan that looks at dispatches. See plan.h for what is verified.
#ifndef OA_SCHEMA_PLAN_VERIFY_H_
#define OA_SCHEMA_PLAN_VERIFY_H_

#include <string>

#include "absl/status/status.h"
#include "schema/plan.h"

namespace oa {

// Slices lie inside their buffers, accesses fit the buffers' kinds and lifetimes, dispatches of a
// stage do not conflict, transients and outputs are written before they are read. Expects stages,
// buffers, inputs and outputs to be verified already.
absl::Status VerifyDispatches(const Plan& plan, const std::string& file);

}  // namespace oa

#endif  // OA_SCHEMA_PLAN_VERIFY_H_
