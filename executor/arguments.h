// Argument blocks: where each dispatch's block lies and what it holds. Pure functions.
#ifndef OA_EXECUTOR_ARGUMENTS_H_
#define OA_EXECUTOR_ARGUMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::exec {

struct ArgumentBlocks {
  std::vector<uint64_t> offsets;  // by dispatch, multiples of 16
  uint64_t size_bytes = 0;        // of all blocks
};

// `kernels` are those of plan.kernels, in that order.
ArgumentBlocks PlaceArgumentBlocks(const Plan& plan, absl::Span<const Kernel> kernels);

// Writes every block into `out` (blocks.size_bytes long). `arena_addresses` has the device address
// of each arena; a slice of zero bytes gets address 0.
// Pre-condition: VerifyPlanKernels accepted the plan.
void WriteArgumentBlocks(const Plan& plan, absl::Span<const Kernel> kernels,
                         const ArgumentBlocks& blocks, absl::Span<const uint64_t> arena_addresses,
                         absl::Span<uint8_t> out);

}  // namespace oa::exec

#endif  // OA_EXECUTOR_ARGUMENTS_H_
