#include "frontend/examples/byte_lm/sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "frontend/init.h"

namespace oa::examples {

uint8_t Sampler::Draw(absl::Span<const float> logits) {
  const size_t best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  const uint32_t word = init::Philox({{draws_++, 0, 0, 0}}, seed_).word[0];
  if (temperature_ <= 0) return static_cast<uint8_t>(best);
  std::vector<double> weights;
  double total = 0;
  for (float logit : logits) {
    weights.push_back(std::exp((static_cast<double>(logit) - logits[best]) / temperature_));
    total += weights.back();
  }
  double left = total * (word >> 8) / double{1 << 24};
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return static_cast<uint8_t>(i);
  }
  return static_cast<uint8_t>(best);  // the sum was rounded down
}

}  // namespace oa::examples
