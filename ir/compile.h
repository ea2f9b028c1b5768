// The compiler: graph -> plan. Passes: prune, lower, fuse, schedule, place (ir/passes/).
#ifndef OA_IR_COMPILE_H_
#define OA_IR_COMPILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "ir/routes.h"
#include "schema/device_profile.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::ir {

struct CompileOptions {
  DeviceProfile profile;
  bool fuse = true;
  Routes routes;  // instead of what the lowerings would choose
  // Tests: give every transient its own place and leave unused bytes between all buffers.
  bool reuse_memory = true;
  uint64_t guard_bytes = 0;  // multiple of kTensorAlignment
  // Called with the IR text after each pass: "prune", "lower", "fuse", "schedule", "place".
  std::function<void(absl::string_view pass, const std::string& text)> on_pass;
};

// State after one pass; figures that do not exist yet are 0.
struct PassReport {
  std::string pass;
  uint64_t nodes = 0;
  uint64_t dispatches = 0;
  uint64_t stages = 0;
  uint64_t peak_bytes = 0;   // of transients
  uint64_t bytes_moved = 0;  // read + written by all dispatches
  double time_ms = 0;
};

// One thing the fuse pass did.
struct FusionNote {
  std::string what;          // "linear+relu", "adamw_step x 6"
  std::string rule;          // "epilogue", "chain", "multi-tensor", ...
  uint64_t bytes_saved = 0;
};

struct Compiled {
  Plan plan;
  std::vector<PassReport> passes;
  std::vector<FusionNote> fusions;
};

// Deterministic: equal graph, pack and options give an equal plan.
// Unimplemented when an operator has no kernel for this profile.
absl::StatusOr<Compiled> Compile(const Graph& graph, const KernelPack& pack,
                                 const CompileOptions& options);

// The table `oa-compile` prints; fits 80 columns.
std::string ReportTable(const std::vector<PassReport>& passes);

}  // namespace oa::ir

#endif  // OA_IR_COMPILE_H_
