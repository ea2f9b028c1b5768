// Normalisation. Conventions and errors as in frontend/matrix.h; epsilon is finite and above zero.
#ifndef OA_FRONTEND_NORM_H_
#define OA_FRONTEND_NORM_H_

#include <optional>

#include "frontend/graph.h"

namespace oa::matrix {

// Rows of [.., N] to mean 0 and variance 1, then * weight [N] + bias [N].
Result<Matrix> layer_norm(const Matrix& input, const Matrix& weight, const Matrix& bias,
                          float epsilon);

}  // namespace oa::matrix

namespace oa::ml::matrix {

using oa::OptMatrix;

struct BatchNorm2dResult {
  Matrix output, mean, variance;
};
struct ChannelNormBackward {
  Matrix input, weight, bias;
};
struct RmsNormGatedBackward {
  Matrix input, weight;
  std::optional<Matrix> bias;  // absent exactly when the bias is
  Matrix gate;
};

// Rows of [.., N] divided by their root mean square, then * weight [N].
Result<Matrix> rms_norm(const Matrix& input, const Matrix& weight, float epsilon);

// The same with weight and bias [.., N] whose rows repeat over the rows of the input, then
// * silu(gate).
Result<Matrix> rms_norm_gated(const Matrix& input, const Matrix& weight, OptMatrix bias,
                              const Matrix& gate, float epsilon);
Result<RmsNormGatedBackward> rms_norm_gated_backward(const Matrix& input, const Matrix& weight,
                                                     OptMatrix bias, const Matrix& gate,
                                                     const Matrix& output_gradient, float epsilon);

// [B, C, T] over its C <= 1024 channels, each (b, t) on its own; weight and bias [C].
Result<Matrix> channel_norm(const Matrix& input, const Matrix& weight, const Matrix& bias,
                            float epsilon);
Result<Matrix> channel_norm_relu(const Matrix& input, const Matrix& weight, const Matrix& bias,
                                 float epsilon);
Result<ChannelNormBackward> channel_norm_backward(const Matrix& input, const Matrix& weight,
                                                  const Matrix& output_gradient, float epsilon);
Result<ChannelNormBackward> channel_norm_relu_backward(const Matrix& input, const Matrix& weight,
                                                       const Matrix& forward_output,
                                                       const Matrix& output_gradient,
                                                       float epsilon);

// NCHW, each channel over the whole batch; weight and bias [C]. mean and the biased variance carry
// no gradient.
Result<BatchNorm2dResult> batch_norm_2d(const Matrix& input, const Matrix& weight,
                                        const Matrix& bias, float epsilon);
// The same from given statistics [C], which get no gradient.
Result<Matrix> batch_norm_2d_with_stats(const Matrix& input, const Matrix& mean,
                                        const Matrix& variance, const Matrix& weight,
                                        const Matrix& bias, float epsilon);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_NORM_H_
