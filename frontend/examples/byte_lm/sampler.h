// Drawing bytes from a model's logits.
#ifndef OA_FRONTEND_EXAMPLES_BYTE_LM_SAMPLER_H_
#define OA_FRONTEND_EXAMPLES_BYTE_LM_SAMPLER_H_

#include <cstdint>

#include "absl/types/span.h"

namespace oa::examples {

// Not thread-safe.
class Sampler {
 public:
  // Equal seeds draw equal bytes from equal logits. Temperature 0 takes the most probable byte.
  Sampler(float temperature, uint64_t seed) : temperature_(temperature), seed_(seed) {}

  // From softmax(logits / temperature). Pre-condition: 1 to 256 logits.
  uint8_t Draw(absl::Span<const float> logits);

 private:
  float temperature_;
  uint64_t seed_;
  uint32_t draws_ = 0;
};

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_BYTE_LM_SAMPLER_H_
