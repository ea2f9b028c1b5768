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

}  // namespace oa::ml::matrix

#endif  // OA_FRONTEND_CONV_H_
