// A classifier of 8x8 grey digits, in a training and an evaluation graph.
//
//   pixels -> zero mean, unit variance per image -> 5x5 patches with stride 2 -> relu features per
//   patch -> relu hidden layer -> 10 classes
//
// Patches are a gather with constant indices, so the first layer is a convolution. Training also
// sees every image shifted by one pixel in eight directions (the same gather, other indices), and
// keeps a running average of all parameters, which the evaluation graph uses: both make the test
// accuracy higher and steadier.
#ifndef OA_FRONTEND_EXAMPLES_DIGITS_DIGITS_MODEL_H_
#define OA_FRONTEND_EXAMPLES_DIGITS_DIGITS_MODEL_H_

#include <cstdint>

#include "frontend/examples/common/training.h"
#include "frontend/oa.h"

namespace oa::examples {

struct DigitsOptions {
  uint64_t batch = 32;
  uint64_t channels = 32;  // features of a patch
  uint64_t hidden = 64;
  StepOptions step;
  uint64_t seed = 1;
};

// Inputs images U8 [batch, 64] and labels U8 [batch]; outputs loss F32 [1] over all shifts, correct
// U32 [1] over the images as they are, and gradient_norm F32 [1]. A replay is one AdamW step.
absl::Status RecordDigitsTraining(Graph& graph, const DigitsOptions& options);

// The same inputs; outputs loss, correct and the predicted classes I32 [batch]. Its parameters are
// the averages that training keeps. Changes nothing.
absl::Status RecordDigitsEvaluation(Graph& graph, const DigitsOptions& options);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_DIGITS_DIGITS_MODEL_H_
