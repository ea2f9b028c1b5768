// The digits data in a graph: 8x8 grey images as rows of 64 pixels, and their classes.
#ifndef OA_FRONTEND_EXAMPLES_COMMON_DIGITS_DATA_H_
#define OA_FRONTEND_EXAMPLES_COMMON_DIGITS_DATA_H_

#include <cstdint>

#include "frontend/examples/common/training.h"
#include "frontend/oa.h"

namespace oa::examples {

inline constexpr uint64_t kDigitSide = 8;
inline constexpr uint64_t kDigitPixels = kDigitSide * kDigitSide;
inline constexpr uint64_t kDigitClasses = 10;
inline constexpr uint64_t kDigitsHeldOut = 360;  // the last rows of the data

// Declares the inputs images U8 [batch, 64] and labels U8 [batch].
struct DigitsInputs {
  DigitsInputs(Graph& graph, uint64_t batch);
  Matrix images, labels;
};

// U8 or F32 [n, 64] to F32 with mean 0 and variance 1 per image.
Result<Matrix> NormaliseDigits(const Matrix& images);

// Records the training step for `loss` and declares what a training graph of digits returns: loss
// F32 [1], gradient_norm F32 [1] and, of `logits` for `labels`, correct U32 [1].
absl::Status OutputDigitsTraining(Graph& graph, const Matrix& loss, const Matrix& logits,
                                  const Matrix& labels, const StepOptions& step);

// Declares what an evaluation graph of digits returns: loss F32 [1], correct U32 [1] and the
// predicted classes I32 [n].
absl::Status OutputDigitsEvaluation(Graph& graph, const Matrix& logits, const Matrix& labels);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_COMMON_DIGITS_DATA_H_
