#include "tests/support/run_graph.h"

#include "ir/compile.h"
#include "schema/status_macros.h"
#include "tests/support/device.h"

namespace oa::testing {

absl::StatusOr<exec::TensorMap> RunGraph(const ir::Graph& graph,
                                         const std::map<std::string, Bytes>& inputs,
                                         const RunOptions& options) {
  exec::Device* device = TestDevice();
  if (device == nullptr) return absl::FailedPreconditionError("no device");
  ir::CompileOptions compile;
  compile.profile = device->info().profile;
  if (options.as_gpu) {
    compile.profile.is_cpu = false;
    compile.profile.compute_units = 132;
  }
  compile.fuse = options.fuse;
  compile.routes = options.routes;
  if (options.guarded) {
    compile.reuse_memory = false;
    compile.guard_bytes = 256;
  }
  OA_ASSIGN_OR_RETURN(ir::Compiled compiled, ir::Compile(graph, TestKernels(), compile));
  OA_ASSIGN_OR_RETURN(std::unique_ptr<exec::Program> program,
                      exec::Program::Create(*device, std::move(compiled.plan), TestKernels()));
  exec::SessionOptions session_options;
  session_options.poison_transients = options.guarded;
  session_options.check_guards = options.guarded;
  OA_ASSIGN_OR_RETURN(std::unique_ptr<exec::Session> session,
                      exec::Session::Create(*program, session_options));
  exec::InputMap input_map;
  for (const auto& [name, bytes] : inputs) input_map[name] = bytes;
  exec::TensorMap outputs;
  for (int i = 0; i < options.replays; ++i) {
    OA_ASSIGN_OR_RETURN(outputs, session->Run(input_map));
  }
  return outputs;
}

}  // namespace oa::testing
