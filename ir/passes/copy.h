// Copies of whole buffers, for named outputs that cannot own the memory they name.
#ifndef OA_IR_PASSES_COPY_H_
#define OA_IR_PASSES_COPY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/program.h"
#include "schema/device_profile.h"
#include "schema/kernel_pack.h"

namespace oa::ir {

// Copies buffer `source` to `target`; both have the same, positive size. Sizes that are multiples
// of 4 become an elementwise program over 32-bit words, which fuses like any other; the rest (odd
// numbers of u8 or bf16 elements) use the "cast" kernel, which writes the last word as a whole.
absl::StatusOr<Dispatch> CopyBuffer(const Program& program, uint32_t source, uint32_t target,
                                    const KernelPack& pack, const DeviceProfile& profile);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_COPY_H_
