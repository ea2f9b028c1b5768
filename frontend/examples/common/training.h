// What the training graphs of all examples have in common.
#ifndef OA_FRONTEND_EXAMPLES_COMMON_TRAINING_H_
#define OA_FRONTEND_EXAMPLES_COMMON_TRAINING_H_

#include "frontend/oa.h"

namespace oa::examples {

// In front of the names of averaged parameters. An evaluation graph whose layers' names start with
// it uses the averages that training keeps; they are better and steadier than the last parameters.
inline constexpr char kAverage[] = "average.";

struct StepOptions {
  float learning_rate = 2e-3f;
  float weight_decay = 0.3f;
  float max_norm = 1.0f;        // gradients are clipped to it
  float average_decay = 0.99f;  // of the averages, a step
};

// Records the backward pass from `loss`, clipping, one AdamW update, and for every parameter of the
// graph (frozen ones too) the average of its values so far, the newest weighted most: the weight of
// a value falls by average_decay a step.
// Returns the gradients' norm before clipping, [1].
Result<Matrix> RecordStep(Graph& graph, const Matrix& loss, const StepOptions& options);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_COMMON_TRAINING_H_
