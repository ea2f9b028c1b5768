// Place: every buffer gets an arena and an offset.
#ifndef OA_IR_PASSES_PLACE_H_
#define OA_IR_PASSES_PLACE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ir/program.h"
#include "schema/device_profile.h"

namespace oa::ir {

struct PlaceOptions {
  bool reuse_memory = true;
  uint64_t guard_bytes = 0;
};

// ResourceExhausted naming the buffer when one alone exceeds the largest allocation.
absl::Status Place(Program& program, const DeviceProfile& profile, const PlaceOptions& options);

// Bytes of all transient arenas.
uint64_t TransientPeak(const Program& program);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_PLACE_H_
