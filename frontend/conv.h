// Pooling, resampling and convolution. Conventions and errors as in frontend/matrix.h. Images are
// [N, C, H, W], sequences [N, C, L]. Padding is zeros on both sides of an axis.
#ifndef OA_FRONTEND_CONV_H_
#define OA_FRONTEND_CONV_H_

#include <cstddef>

#include "frontend/graph.h"

namespace oa::ml::matrix {

// Square windows; what lies in the padding counts neither for the mean nor for the maximum.
Result<Matrix> avg_pool_2d(const Matrix& input, std::size_t kernel_size, std::size_t stride,
                           std::size_t padding);

struct MaxPool2dResult {
  Matrix output;
  Matrix indices;  // U32: offset of each maximum in the whole input; no gradient
};
Result<MaxPool2dResult> max_pool_2d(const Matrix& input, std::size_t kernel_size,
                                    std::size_t stride, std::size_t padding);

// Mean over output_height * output_width bins, which divide the image evenly and may overlap.
Result<Matrix> adaptive_avg_pool_2d(const Matrix& input, std::size_t output_height,
                                    std::size_t output_width);

enum class UpsampleMode { Nearest, Bilinear };

// Both extents times `scale_factor`. Bilinear has half-pixel centres, corners not aligned.
Result<Matrix> upsample_2d(const Matrix& input, std::size_t scale_factor, UpsampleMode mode);

// weight [O, C, K], bias [O]: [N, C, L] to [N, O, OL].
Result<Matrix> conv_1d(const Matrix& input, const Matrix& weight, const Matrix& bias,
                       std::size_t stride, std::size_t padding, std::size_t dilation);
// weight [O, C / groups, K, K], bias [O]: [N, C, H, W] to [N, O, OH, OW].
Result<Matrix> conv_2d(const Matrix& input, const Matrix& weight, const Matrix& bias,
                       std::size_t stride, std::size_t padding, std::size_t groups);

// The adjoints of convolutions with the same weight array. Padding is cut off the result.
// weight [C, O, K]: [N, C, L] to [N, O, (L - 1) * stride - 2 * padding + dilation * (K - 1) + 1].
Result<Matrix> conv_transpose_1d(const Matrix& input, const Matrix& weight, std::size_t stride,
                                 std::size_t padding, std::size_t dilation);
// weight [C, O, K, K], bias [O]: an extent E becomes (E - 1) * stride - 2 * padding + K.
Result<Matrix> conv_transpose_2d(const Matrix& input, const Matrix& weight, const Matrix& bias,
                                 std::size_t stride, std::size_t padding);

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_CONV_H_
