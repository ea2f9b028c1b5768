// A byte-level Transformer whose feed-forward layers are sparse mixtures of experts.
//
//   bytes -> embedding -> layers x (x + attention(rms_norm(x)), x + experts(rms_norm(x)))
//         -> rms_norm -> logits
//
// Attention is causal with rotary positions; each token goes through `experts_per_token` of the
// gated feed-forward experts, which a balancing bias keeps evenly busy without an extra loss.
#ifndef OA_FRONTEND_EXAMPLES_TRANSFORMER_TRANSFORMER_MODEL_H_
#define OA_FRONTEND_EXAMPLES_TRANSFORMER_TRANSFORMER_MODEL_H_

#include <cstdint>

#include "frontend/examples/byte_lm/byte_lm.h"

namespace oa::examples {

struct TransformerOptions {
  uint64_t width = 64;
  uint64_t heads = 4;
  uint64_t layers = 2;
  uint64_t experts = 4;
  uint64_t experts_per_token = 2;
  uint64_t hidden = 96;  // of an expert
  float rope_theta = 10000;
  float balance_rate = 1e-2f;  // of the balancing bias, a step
};

ByteModel Transformer(const TransformerOptions& options);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_TRANSFORMER_TRANSFORMER_MODEL_H_
