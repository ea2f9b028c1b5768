// BatchNorm2d, LayerNorm and RmsNorm. What layers have in common is in frontend/nn/layer.h.
#ifndef OA_FRONTEND_NN_NORM_H_
#define OA_FRONTEND_NN_NORM_H_

#include "frontend/nn/layer.h"

namespace oa::ml::nn {

struct BatchNorm2dOptions {
  float momentum = 0.1f;
  float epsilon = 1e-5f;
};

// Each channel of [N, channels, H, W] to mean 0 and variance 1, then * weight + bias. In training
// the statistics are those of the batch, and every call records
//   running = (1 - momentum) * running + momentum * batch
// with the biased variance; evaluation normalises by the running ones and changes nothing.
// Parameters, all [channels]: weight, bias; frozen: running_mean, running_variance.
// Source: Ioffe and Szegedy 2015.
class BatchNorm2d : public Layer {
 public:
  BatchNorm2d(Graph& graph, absl::string_view name, uint64_t channels, Mode mode,
              const BatchNorm2dOptions& options = {});
  Result<Matrix> operator()(const Matrix& x) const;

 private:
  Mode mode_;
  BatchNorm2dOptions options_;
  Parameter weight_, bias_, running_mean_, running_variance_;
};

// Rows of [.., width] to mean 0 and variance 1, then * weight + bias.
// Parameters, all [width]: weight, bias. Source: Ba et al. 2016.
class LayerNorm : public Layer {
 public:
  LayerNorm(Graph& graph, absl::string_view name, uint64_t width, float epsilon = 1e-5f);
  Result<Matrix> operator()(const Matrix& x) const;

 private:
  float epsilon_;
  Parameter weight_, bias_;
};

// Rows of [.., width] divided by their root mean square, then * weight.
// Parameter: weight [width]. Source: Zhang and Sennrich 2019.
class RmsNorm : public Layer {
 public:
  RmsNorm(Graph& graph, absl::string_view name, uint64_t width, float epsilon = 1e-5f);
  Result<Matrix> operator()(const Matrix& x) const;

 private:
  float epsilon_;
  Parameter weight_;
};

}  // namespace oa::ml::nn

#endif  // OA_FRONTEND_NN_NORM_H_
