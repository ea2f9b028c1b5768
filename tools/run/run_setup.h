// Everything a run needs that can be checked before the device does any work.
#ifndef OA_TOOLS_RUN_RUN_SETUP_H_
#define OA_TOOLS_RUN_RUN_SETUP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/common/bind_inputs.h"
#include "tools/common/compare.h"
#include "tools/common/model.h"
#include "tools/common/safetensors.h"
#include "tools/common/set_element.h"
#include "tools/common/stream.h"
#include "tools/common/tensor_arg.h"
#include "tools/run/run_options.h"

namespace oa::tools {

// The texts of RunOptions, parsed without looking at the model.
struct RunArgs {
  std::vector<TensorArg> inputs, streams, outputs, expects;
  std::vector<SetArg> sets;
  ToleranceOverrides tolerance;
};
absl::StatusOr<RunArgs> ParseRunArgs(const RunOptions& options);

// Every file the run will write.
std::vector<std::string> FilesToWrite(const RunOptions& options, const RunArgs& args);

struct RunSetup {
  BoundInputs inputs;  // those that stay the same in every step
  std::optional<BatchStream> stream;
  std::optional<Safetensors> params, state;
  absl::flat_hash_map<std::string, Blob> expected;
  std::vector<std::string> notes;  // for the user, one sentence each
};

// Reads and checks all files against the plan.
absl::StatusOr<RunSetup> PrepareRun(const RunOptions& options, const RunArgs& args,
                                    const Plan& plan);

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_RUN_SETUP_H_
