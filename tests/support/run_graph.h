// Compiles a graph and replays it on the test device.
#ifndef OA_TESTS_SUPPORT_RUN_GRAPH_H_
#define OA_TESTS_SUPPORT_RUN_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session.h"
#include "ir/graph.h"
#include "ir/routes.h"

namespace oa::testing {

struct RunOptions {
  bool fuse = true;
  // Every buffer gets its own place with guard bytes around it, transients are poisoned with NaN,
  // and the guards are verified after the replay.
  bool guarded = true;
  // Compile for a data-centre GPU: its forms of the kernels run on any device, slowly.
  bool as_gpu = false;
  int replays = 1;
  ir::Routes routes;
};

using Bytes = std::vector<uint8_t>;

// Outputs after the last replay.
absl::StatusOr<exec::TensorMap> RunGraph(const ir::Graph& graph,
                                         const std::map<std::string, Bytes>& inputs,
                                         const RunOptions& options = {});

}  // namespace oa::testing

#endif  // OA_TESTS_SUPPORT_RUN_GRAPH_H_
