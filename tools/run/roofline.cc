#include "tools/run/roofline.h"

#include <algorithm>

#include "executor/session.h"
#include "ir/compile.h"
#include "schema/status_macros.h"

namespace oa::tools {
namespace {

constexpr int kReplays = 6;  // the first ones warm caches and clocks up

// Larger than the last-level cache of what it runs on.
uint64_t ArrayElements(const DeviceProfile& profile) {
  const uint64_t wanted = profile.is_cpu ? uint64_t{64} << 20 : uint64_t{512} << 20;
  return std::min(wanted, profile.max_allocation_bytes / 4) / sizeof(float);
}

absl::StatusOr<ir::Graph> RecordAccumulate(uint64_t elements) {
  ir::Graph graph("memory bandwidth");
  OA_ASSIGN_OR_RETURN(const ir::ValueId total,
                      graph.AddStorage(BufferKind::kState, "total", DType::F32, {elements}));
  OA_ASSIGN_OR_RETURN(const ir::ValueId x,
                      graph.AddStorage(BufferKind::kParameter, "x", DType::F32, {elements}));
  OA_RETURN_IF_ERROR(graph.Record("accumulate", {total, x}).status());
  return graph;
}

}  // namespace

absl::StatusOr<double> MeasureMemoryBandwidth(exec::Device& device, const KernelPack& pack) {
  if (device.info().timestamp_period_ns == 0) {
    return absl::FailedPreconditionError("the compute queue has no timestamps");
  }
  const DeviceProfile& profile = device.info().profile;
  OA_ASSIGN_OR_RETURN(const ir::Graph graph, RecordAccumulate(ArrayElements(profile)));
  ir::CompileOptions options;
  options.profile = profile;
  OA_ASSIGN_OR_RETURN(ir::Compiled compiled, ir::Compile(graph, pack, options));
  double bytes = 0;
  for (const PlanDispatch& d : compiled.plan.dispatches) {
    bytes += static_cast<double>(d.bytes_read + d.bytes_written);
  }
  OA_ASSIGN_OR_RETURN(const auto program,
                      exec::Program::Create(device, std::move(compiled.plan), pack));
  exec::SessionOptions session_options;
  session_options.timestamps = true;
  OA_ASSIGN_OR_RETURN(const auto session, exec::Session::Create(*program, session_options));
  double best_ns = 0;
  for (int i = 0; i < kReplays; ++i) {
    OA_RETURN_IF_ERROR(session->Run({}).status());
    uint64_t end_ns = 0;
    for (const exec::DispatchTime& t : session->profile()) {
      end_ns = std::max(end_ns, t.last_end_ns);
    }
    if (end_ns > 0 && (best_ns == 0 || end_ns < best_ns)) best_ns = static_cast<double>(end_ns);
  }
  if (best_ns == 0) return absl::FailedPreconditionError("the timestamps are all zero");
  return bytes / (best_ns * 1e-9);
}

}  // namespace oa::tools
