// A convolutional classifier of 8x8 grey digits, in a training and an evaluation graph.
//
//   pixels -> zero mean, unit variance per image
//          -> 2 x (3x3 convolution, batch norm, relu) -> 2x2 maxima
//          -> 3x3 convolution with twice the channels, batch norm, relu
//          -> 10 classes
//
// Training sees every image moved by up to a pixel in both directions, drawn anew in every replay.
// It normalises by the statistics of its batch and keeps running ones, by which the
// evaluation graph normalises. Both come from one function that builds the layers for a mode.
#ifndef OA_FRONTEND_EXAMPLES_DIGITS_CNN_DIGITS_CNN_MODEL_H_
#define OA_FRONTEND_EXAMPLES_DIGITS_CNN_DIGITS_CNN_MODEL_H_

#include <cstdint>

#include "frontend/examples/common/training.h"
#include "frontend/oa.h"

namespace oa::examples {

struct DigitsCnnOptions {
  uint64_t batch = 16;
  uint64_t channels = 16;
  StepOptions step = {.learning_rate = 3e-3f, .weight_decay = 0.05f};
  uint64_t seed = 1;  // of the moves
};

// Inputs images U8 [batch, 64] and labels U8 [batch]; outputs loss F32 [1], correct U32 [1], both
// of the moved images, and gradient_norm F32 [1]. A replay is one AdamW step.
absl::Status RecordDigitsCnnTraining(Graph& graph, const DigitsCnnOptions& options);

// The same inputs; outputs loss, correct and the predicted classes I32 [batch]. Its parameters are
// the averages that training keeps. Changes nothing.
absl::Status RecordDigitsCnnEvaluation(Graph& graph, const DigitsCnnOptions& options);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_DIGITS_CNN_DIGITS_CNN_MODEL_H_
