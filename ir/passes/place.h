// Place: buffers -> offsets in arenas.
#ifndef OA_IR_PASSES_PLACE_H_
#define OA_IR_PASSES_PLACE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ir/program.h"
#include "schema/device_profile.h"

namespace oa::ir {

struct PlaceOptions {
  bool reuse_memory = true;  // false: every transient has its own place
  uint64_t guard_bytes = 0;  // left unused behind every buffer; multiple of kTensorAlignment
};

// Fills in lifetimes and places of all buffers and the list of arenas. Expects a scheduled program.
// ResourceExhausted when a buffer is larger than the profile's largest allocation.
absl::Status Place(Program& program, const DeviceProfile& profile, const PlaceOptions& options);

// Sum of the transient arenas.
uint64_t TransientBytes(const Program& program);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_PLACE_H_
