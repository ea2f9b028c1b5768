// Program: a plan with its pipelines, ready for any number of sessions.
#ifndef OA_EXECUTOR_PROGRAM_H_
#define OA_EXECUTOR_PROGRAM_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "executor/device.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::exec {

struct ProgramOptions {
  unsigned threads = 0;  // for pipeline creation; 0: one per core
  // Called from one thread at a time with pipelines finished and wanted.
  std::function<void(int done, int total)> on_progress;
};

struct ProgramStats {
  int pipelines = 0;
  double pipeline_ms = 0;  // wall time of pipeline creation
  bool cache_hit = false;  // a valid cache file was found
};

// Immutable after creation. The device must outlive it.
class Program {
 public:
  // Verifies the plan against the pack, checks that the device can run every kernel, and creates
  // the pipelines in parallel from the on-disk cache. A bundled pack inside the plan is preferred
  // to `pack`.
  static absl::StatusOr<std::unique_ptr<Program>> Create(Device& device, Plan plan,
                                                         const KernelPack& pack,
                                                         const ProgramOptions& options = {});
  virtual ~Program() = default;
  virtual const Plan& plan() const = 0;
  virtual const ProgramStats& stats() const = 0;
};

// What the plan needs before any device is touched: arenas, pipelines, the ten largest buffers.
// `oa-run --dry-run` and out-of-memory errors print it. Fits 80 columns.
std::string MemoryReport(const Plan& plan);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_PROGRAM_H_
