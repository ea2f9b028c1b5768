// The driver of the passes. After each pass: verify, report, hand the text to the caller.
#include "ir/compile.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/passes/emit_plan.h"
#include "ir/passes/finish_elementwise.h"
#include "ir/passes/fuse.h"
#include "ir/passes/lower.h"
#include "ir/passes/place.h"
#include "ir/passes/prune.h"
#include "ir/passes/schedule.h"
#include "ir/program.h"
#include "schema/container.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

class Compiler {
 public:
  Compiler(const Graph& graph, const KernelPack& pack, const CompileOptions& options)
      : graph_(graph), pack_(pack), options_(options) {}

  absl::StatusOr<Compiled> Run() {
    if (options_.guard_bytes % kTensorAlignment != 0) {
      return absl::InvalidArgumentError(absl::StrCat("guard_bytes is ", options_.guard_bytes,
                                                     ", must be a multiple of ", kTensorAlignment));
    }
    OA_RETURN_IF_ERROR(CheckRoutes(options_.routes));
    const DeviceProfile& profile = options_.profile;
    Start();
    OA_ASSIGN_OR_RETURN(const std::vector<NodeId> nodes, Prune(graph_));
    node_count_ = nodes.size();
    ReportNodes(nodes);
    OA_ASSIGN_OR_RETURN(program_, LowerGraph(graph_, nodes, pack_, profile, options_.routes));
    OA_RETURN_IF_ERROR(Report("lower"));
    if (options_.fuse) result_.fusions = Fuse(program_, profile);
    OA_RETURN_IF_ERROR(Report("fuse"));
    Schedule(program_);
    OA_RETURN_IF_ERROR(Report("schedule"));
    const PlaceOptions place = {options_.reuse_memory, options_.guard_bytes};
    OA_RETURN_IF_ERROR(Place(program_, profile, place));
    OA_RETURN_IF_ERROR(Report("place"));
    // Last, so that every dump above shows elementwise programs, not their encoding.
    OA_RETURN_IF_ERROR(FinishElementwise(program_, pack_, profile));
    OA_RETURN_IF_ERROR(VerifyProgram(program_, "finish_elementwise"));
    OA_ASSIGN_OR_RETURN(result_.plan, EmitPlan(std::move(program_), graph_, pack_, profile));
    return std::move(result_);
  }

 private:
  void Start() { start_ = std::chrono::steady_clock::now(); }

  double ElapsedMs() const {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    return std::chrono::duration<double, std::milli>(elapsed).count();
  }

  void ReportNodes(const std::vector<NodeId>& nodes) {
    PassReport report;
    report.pass = "prune";
    report.nodes = nodes.size();
    report.time_ms = ElapsedMs();
    result_.passes.push_back(std::move(report));
    if (options_.on_pass) options_.on_pass("prune", DumpNodes(graph_, nodes));
    Start();
  }

  absl::Status Report(const char* pass) {
    PassReport report;
    report.pass = pass;
    report.nodes = node_count_;
    report.dispatches = program_.dispatches.size();
    report.stages = program_.stage_count;
    report.peak_bytes = PeakBytes();
    for (const Dispatch& dispatch : program_.dispatches) {
      report.bytes_moved += BytesRead(dispatch) + BytesWritten(dispatch);
    }
    report.time_ms = ElapsedMs();
    result_.passes.push_back(std::move(report));
    OA_RETURN_IF_ERROR(VerifyProgram(program_, pass));
    if (options_.on_pass) options_.on_pass(pass, DumpProgram(program_));
    Start();
    return absl::OkStatus();
  }

  // After place: what the arenas take. After schedule: the lower bound that no placing can beat.
  uint64_t PeakBytes() const {
    if (!program_.arenas.empty()) return TransientBytes(program_);
    if (program_.stage_count == 0) return 0;
    std::vector<uint32_t> stages;
    for (const Dispatch& dispatch : program_.dispatches) stages.push_back(dispatch.stage);
    return PeakTransientBytes(program_, stages);
  }

  const Graph& graph_;
  const KernelPack& pack_;
  const CompileOptions& options_;
  Compiled result_;
  Program program_;
  size_t node_count_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

absl::StatusOr<Compiled> Compile(const Graph& graph, const KernelPack& pack,
                                 const CompileOptions& options) {
  absl::StatusOr<Compiled> compiled = Compiler(graph, pack, options).Run();
  if (compiled.ok()) return compiled;
  return Annotate(compiled.status(), absl::StrCat("compiling '", graph.name(), "'"));
}

}  // namespace oa::ir
