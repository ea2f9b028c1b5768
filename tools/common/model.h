// Model: what a user hands to a tool, either a graph that still has to be compiled or a plan.
#ifndef OA_TOOLS_COMMON_MODEL_H_
#define OA_TOOLS_COMMON_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/compile.h"
#include "ir/graph.h"
#include "schema/device_profile.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::tools {

// Exactly one of the two is set.
struct Model {
  std::string path;
  std::optional<ir::Graph> graph;  // from an .oag
  std::optional<Plan> plan;        // from an .oax
};

// Recognised by its magic and fully verified. Every error has exit code 3.
absl::StatusOr<Model> LoadModel(const std::string& path);

struct PlanOptions {
  DeviceProfile profile;  // compiled for; plans were compiled before and ignore it
  bool fuse = true;
  std::string kernels;  // --kernels, see kernel_lookup.h
};

// A plan with the kernels it needs.
struct ReadyPlan {
  Plan plan;
  KernelPack pack;                     // empty when the plan brings its own
  std::vector<ir::PassReport> passes;  // empty for an .oax
  std::vector<ir::FusionNote> fusions;
};

absl::StatusOr<ReadyPlan> PreparePlan(Model model, const PlanOptions& options);

// Reads a profile made by `oa-run devices --profile`.
absl::StatusOr<DeviceProfile> LoadProfile(const std::string& path);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_MODEL_H_
