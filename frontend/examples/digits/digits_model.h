// A classifier of 8x8 grey digits: 64 -> hidden -> hidden -> 10, in a training and an evaluation
// graph that share their parameter names.
#ifndef OA_FRONTEND_EXAMPLES_DIGITS_DIGITS_MODEL_H_
#define OA_FRONTEND_EXAMPLES_DIGITS_DIGITS_MODEL_H_

#include <cstdint>

#include "frontend/oa.h"

namespace oa::examples {

struct DigitsOptions {
  uint64_t batch = 32;
  uint64_t hidden = 128;
  float learning_rate = 2e-3f;
  float weight_decay = 1e-2f;
  float max_norm = 1.0f;
  uint64_t seed = 1;
};

// Inputs images U8 [batch, 64] and labels U8 [batch]; outputs loss F32 [1], correct U32 [1] and
// gradient_norm F32 [1]. A replay is one AdamW step.
absl::Status RecordDigitsTraining(Graph& graph, const DigitsOptions& options);

// The same inputs; outputs loss, correct and the predicted classes I32 [batch]. Changes nothing.
absl::Status RecordDigitsEvaluation(Graph& graph, const DigitsOptions& options);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_DIGITS_DIGITS_MODEL_H_
