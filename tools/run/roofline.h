// Measures how fast the device moves memory, to compare benchmarks with.
#ifndef OA_TOOLS_RUN_ROOFLINE_H_
#define OA_TOOLS_RUN_ROOFLINE_H_

#include "absl/status/statusor.h"
#include "executor/device.h"
#include "schema/kernel_pack.h"

namespace oa::tools {

// Bytes per second that `total += x` over large arrays reads and writes: the best of a few
// replays by the device's own clock. FailedPrecondition without timestamps.
absl::StatusOr<double> MeasureMemoryBandwidth(exec::Device& device, const KernelPack& pack);

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_ROOFLINE_H_
