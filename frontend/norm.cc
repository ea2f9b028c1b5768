#include "frontend/norm.h"

#include <vector>

#include "frontend/record.h"

namespace oa {
namespace {

ir::Attributes Epsilon(float epsilon) { return ir::Attributes().F32("epsilon", epsilon); }

}  // namespace

namespace matrix {

Result<Matrix> layer_norm(const Matrix& input, const Matrix& weight, const Matrix& bias,
                          float epsilon) {
  return internal::Record("layer_norm", {&input, &weight, &bias}, Epsilon(epsilon));
}

}  // namespace matrix

namespace ml::matrix {

using internal::Record;
using internal::RecordAll;

Result<Matrix> rms_norm(const Matrix& input, const Matrix& weight, float epsilon) {
  return Record("rms_norm", {&input, &weight}, Epsilon(epsilon));
}

Result<Matrix> rms_norm_gated(const Matrix& input, const Matrix& weight, OptMatrix bias,
                              const Matrix& gate, float epsilon) {
  return Record("rms_norm_gated", {&input, &weight, bias, &gate}, Epsilon(epsilon));
}

Result<RmsNormGatedBackward> rms_norm_gated_backward(const Matrix& input, const Matrix& weight,
                                                     OptMatrix bias, const Matrix& gate,
                                                     const Matrix& output_gradient,
                                                     float epsilon) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> results,
                      RecordAll("rms_norm_gated_backward",
                                {&input, &weight, bias, &gate, &output_gradient},
                                Epsilon(epsilon)));
  RmsNormGatedBackward gradients = {results[0], results[1], std::nullopt, results[3]};
  if (bias != nullptr) gradients.bias = results[2];
  return gradients;
}

Result<Matrix> channel_norm(const Matrix& input, const Matrix& weight, const Matrix& bias,
                            float epsilon) {
  return Record("channel_norm", {&input, &weight, &bias}, Epsilon(epsilon));
}

Result<Matrix> channel_norm_relu(const Matrix& input, const Matrix& weight, const Matrix& bias,
                                 float epsilon) {
  return Record("channel_norm_relu", {&input, &weight, &bias}, Epsilon(epsilon));
}

Result<ChannelNormBackward> channel_norm_backward(const Matrix& input, const Matrix& weight,
                                                  const Matrix& output_gradient, float epsilon) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> results,
                      RecordAll("channel_norm_backward", {&input, &weight, &output_gradient},
                                Epsilon(epsilon)));
  return ChannelNormBackward{results[0], results[1], results[2]};
}

Result<ChannelNormBackward> channel_norm_relu_backward(const Matrix& input, const Matrix& weight,
                                                       const Matrix& forward_output,
                                                       const Matrix& output_gradient,
                                                       float epsilon) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> results,
                      RecordAll("channel_norm_relu_backward",
                                {&input, &weight, &forward_output, &output_gradient},
                                Epsilon(epsilon)));
  return ChannelNormBackward{results[0], results[1], results[2]};
}

Result<BatchNorm2dResult> batch_norm_2d(const Matrix& input, const Matrix& weight,
                                        const Matrix& bias, float epsilon) {
  OA_ASSIGN_OR_RETURN(const std::vector<Matrix> results,
                      RecordAll("batch_norm_2d", {&input, &weight, &bias}, Epsilon(epsilon)));
  return BatchNorm2dResult{results[0], results[1], results[2]};
}

Result<Matrix> batch_norm_2d_with_stats(const Matrix& input, const Matrix& mean,
                                        const Matrix& variance, const Matrix& weight,
                                        const Matrix& bias, float epsilon) {
  return Record("batch_norm_2d_with_stats", {&input, &mean, &variance, &weight, &bias},
                Epsilon(epsilon));
}

}  // namespace ml::matrix
}  // namespace oa
