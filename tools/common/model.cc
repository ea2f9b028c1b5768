#include "tools/common/model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph_io.h"
#include "schema/container.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/file_kind.h"
#include "tools/common/kernel_lookup.h"

namespace oa::tools {
namespace {

absl::StatusOr<Model> ParseModel(const std::string& path) {
  OA_ASSIGN_OR_RETURN(Blob file, ReadFile(path));
  OA_ASSIGN_OR_RETURN(const AnyFile kind, DetectFile(file.bytes(), path));
  Model model;
  model.path = path;
  if (kind == AnyFile::kGraph) {
    OA_ASSIGN_OR_RETURN(model.graph, ir::ParseGraph(std::move(file), path));
    return model;
  }
  if (kind == AnyFile::kPlan) {
    OA_ASSIGN_OR_RETURN(model.plan, ParsePlan(std::move(file), path));
    return model;
  }
  return BadFile("'", path, "' is a file of kind '", AnyFileName(kind),
                 "'; a graph (.oag) or a plan (.oax) is needed here.");
}

}  // namespace

absl::StatusOr<Model> LoadModel(const std::string& path) {
  absl::StatusOr<Model> model = ParseModel(path);
  if (!model.ok()) return WithExit(model.status(), kExitFile);
  return model;
}

absl::StatusOr<ReadyPlan> PreparePlan(Model model, const PlanOptions& options) {
  ReadyPlan ready;
  if (model.plan) {
    ready.plan = *std::move(model.plan);
    if (!ready.plan.bundled_pack.empty()) return ready;
    OA_ASSIGN_OR_RETURN(ready.pack, LoadKernelPack(options.kernels));
    const absl::Status kernels = VerifyPlanKernels(ready.plan, ready.pack, model.path);
    if (!kernels.ok()) return WithExit(kernels, kExitFile);
    return ready;
  }
  OA_ASSIGN_OR_RETURN(ready.pack, LoadKernelPack(options.kernels));
  ir::CompileOptions compile;
  compile.profile = options.profile;
  compile.fuse = options.fuse;
  absl::StatusOr<ir::Compiled> compiled = ir::Compile(*model.graph, ready.pack, compile);
  if (!compiled.ok()) {
    return WithExit(Annotate(compiled.status(), absl::StrCat("cannot compile '", model.path, "'")),
                    kExitDevice);
  }
  ready.plan = std::move(compiled->plan);
  ready.passes = std::move(compiled->passes);
  ready.fusions = std::move(compiled->fusions);
  return ready;
}

absl::StatusOr<DeviceProfile> LoadProfile(const std::string& path) {
  absl::StatusOr<Blob> file = ReadFile(path);
  if (!file.ok()) return WithExit(file.status(), kExitFile);
  const absl::Span<const uint8_t> bytes = file->bytes();
  absl::StatusOr<DeviceProfile> profile =
      ProfileFromJson(absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (profile.ok()) return profile;
  return WithExit(Annotate(profile.status(), absl::StrCat("cannot read the profile '", path, "'")),
                  kExitFile);
}

}  // namespace oa::tools
