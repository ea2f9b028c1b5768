#include "frontend/conv.h"

#include <utility>
#include <vector>

#include "frontend/record.h"
#include "schema/status_macros.h"

namespace oa::ml::matrix {

using internal::Record;
using internal::Signed;
using ir::Attributes;

namespace {

Attributes Windows(std::size_t kernel_size, std::size_t stride, std::size_t padding) {
  return Attributes()
      .I64("kernel_size", Signed(kernel_size))
      .I64("stride", Signed(stride))
      .I64("padding", Signed(padding));
}

Attributes Steps(std::size_t stride, std::size_t padding) {
  return Attributes().I64("stride", Signed(stride)).I64("padding", Signed(padding));
}

// An unknown mode has no token, so that the operator refuses it.
const char* ModeToken(UpsampleMode mode) {
  switch (mode) {
    case UpsampleMode::Nearest:
      return "nearest";
    case UpsampleMode::Bilinear:
      return "bilinear";
  }
  return "";
}

}  // namespace

Result<Matrix> avg_pool_2d(const Matrix& input, std::size_t kernel_size, std::size_t stride,
                           std::size_t padding) {
  return Record("avg_pool_2d", {&input}, Windows(kernel_size, stride, padding));
}

Result<MaxPool2dResult> max_pool_2d(const Matrix& input, std::size_t kernel_size,
                                    std::size_t stride, std::size_t padding) {
  OA_ASSIGN_OR_RETURN(std::vector<Matrix> results,
                      internal::RecordAll("max_pool_2d", {&input},
                                          Windows(kernel_size, stride, padding)));
  return MaxPool2dResult{std::move(results[0]), std::move(results[1])};
}

Result<Matrix> adaptive_avg_pool_2d(const Matrix& input, std::size_t output_height,
                                    std::size_t output_width) {
  return Record("adaptive_avg_pool_2d", {&input},
                Attributes()
                    .I64("output_height", Signed(output_height))
                    .I64("output_width", Signed(output_width)));
}

Result<Matrix> upsample_2d(const Matrix& input, std::size_t scale_factor, UpsampleMode mode) {
  return Record(
      "upsample_2d", {&input},
      Attributes().I64("scale_factor", Signed(scale_factor)).Token("mode", ModeToken(mode)));
}

Result<Matrix> conv_1d(const Matrix& input, const Matrix& weight, const Matrix& bias,
                       std::size_t stride, std::size_t padding, std::size_t dilation) {
  return Record("conv_1d", {&input, &weight, &bias},
                Steps(stride, padding).I64("dilation", Signed(dilation)));
}

Result<Matrix> conv_2d(const Matrix& input, const Matrix& weight, const Matrix& bias,
                       std::size_t stride, std::size_t padding, std::size_t groups) {
  return Record("conv_2d", {&input, &weight, &bias},
                Steps(stride, padding).I64("groups", Signed(groups)));
}

Result<Matrix> conv_transpose_1d(const Matrix& input, const Matrix& weight, std::size_t stride,
                                 std::size_t padding, std::size_t dilation) {
  return Record("conv_transpose_1d", {&input, &weight},
                Steps(stride, padding).I64("dilation", Signed(dilation)));
}

Result<Matrix> conv_transpose_2d(const Matrix& input, const Matrix& weight, const Matrix& bias,
                                 std::size_t stride, std::size_t padding) {
  return Record("conv_transpose_2d", {&input, &weight, &bias}, Steps(stride, padding));
}

}  // namespace oa::ml::matrix
