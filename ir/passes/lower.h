// Lower: nodes -> dispatches over buffers.
#ifndef OA_IR_PASSES_LOWER_H_
#define OA_IR_PASSES_LOWER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "ir/routes.h"
#include "schema/device_profile.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

// The program of `nodes`, which are in execution order. Unimplemented when an operator has no
// kernel for the profile or a value has more elements than kernels can address.
absl::StatusOr<Program> LowerGraph(const Graph& graph, const std::vector<NodeId>& nodes,
                                   const KernelPack& pack, const DeviceProfile& profile,
                                   const Routes& routes = {});

}  // namespace oa::ir

#endif  // OA_IR_PASSES_LOWER_H_
