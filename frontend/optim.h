// Optimisers: in-place updates recorded behind a backward pass. All hyperparameters live in a
// device-resident state `<name>.hyper`, so that they can change between replays without a new
// recording (`oa-run --set adamw.hyper[1]=1e-4`).
#ifndef OA_FRONTEND_OPTIM_H_
#define OA_FRONTEND_OPTIM_H_

#include <optional>
#include <string>
#include <vector>

#include "frontend/autograd.h"
#include "frontend/graph.h"

namespace oa::ml::optim {

// Scales all parameter gradients in place so that their joint norm is at most `max_norm`, updates
// `gradients` to the scaled versions and returns the norm before scaling, [1].
Result<Matrix> clip_grad_norm(autograd::Gradients& gradients, float max_norm);

struct SgdOptions {
  float learning_rate = 1e-2f;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
  std::string name = "sgd";
};

// d = grad + weight_decay * w; without momentum w -= lr * d, with it m = momentum * m + d and
// w -= lr * (nesterov ? d + momentum * m : m). `sgd.hyper` is F32 {lr, momentum, weight_decay}.
class Sgd {
 public:
  explicit Sgd(SgdOptions options = {}) : options_(std::move(options)) {}
  // Records one update of every parameter in `gradients`. Call it once a recorded step.
  absl::Status Step(const autograd::Gradients& gradients);

 private:
  SgdOptions options_;
  std::optional<State> hyper_;
};

struct AdamOptions {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0;
  std::string name;  // of the states; the default is "adam" or "adamw"
};

// Adam (Kingma and Ba 2015); the decay is added to the gradient. `adam.hyper` is U32[6] with the
// bits of {u32 t; f32 lr, beta1, beta2, epsilon, weight_decay}; t counts the steps.
class Adam {
 public:
  explicit Adam(AdamOptions options = {}) : options_(std::move(options)) {}
  absl::Status Step(const autograd::Gradients& gradients);

 private:
  AdamOptions options_;
  std::optional<State> hyper_;
};

// AdamW (Loshchilov and Hutter 2019): w -= lr * weight_decay * w first, then Adam without decay.
class AdamW {
 public:
  explicit AdamW(AdamOptions options = {}) : options_(std::move(options)) {}
  absl::Status Step(const autograd::Gradients& gradients);

 private:
  AdamOptions options_;
  std::optional<State> hyper_;
};

}  // namespace oa::ml::optim

#endif  // OA_FRONTEND_OPTIM_H_
