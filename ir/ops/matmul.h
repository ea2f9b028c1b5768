// Products: one lowering that matmul, linear and everything built on products share.
// Internal to ir/ops.
#ifndef OA_IR_OPS_MATMUL_H_
#define OA_IR_OPS_MATMUL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/lower.h"

namespace oa::ir {

// One operand of a product: element (i, j) of batch entry b is at
// b * batch_stride + i * row_stride + j * column_stride.
struct MatrixView {
  BufferSlice slice;
  uint64_t row_stride = 1;
  uint64_t column_stride = 1;
  uint64_t batch_stride = 0;

  // Dense [rows, columns], and its transpose.
  static MatrixView Dense(BufferSlice slice, uint64_t columns) { return {slice, columns, 1, 0}; }
  static MatrixView Transposed(BufferSlice slice, uint64_t columns) {
    return {slice, 1, columns, 0};
  }
};

// out[b, i, j] = sum_k a[b, i, k] * b[b, k, j] (+ bias[j]); out is dense [batch, m, n].
struct Product {
  MatrixView a, b;
  uint64_t m = 1, n = 1, k = 1, batch = 1;
  BufferSlice bias;  // [n]; empty: none
  BufferSlice out;
};

// A factor of a dense product, stored as it is used or transposed.
struct Factor {
  BufferSlice slice;
  bool transposed = false;
};

// out [batch, m, n] = a [batch, m, k] times b [batch, k, n]; a transposed factor is stored with its
// last two extents exchanged.
Product DenseProduct(Factor a, Factor b, uint64_t m, uint64_t n, uint64_t k, BufferSlice out,
                     uint64_t batch = 1);

// OpDef::kernels of rows lowered with the functions below.
inline std::vector<std::string> ProductKernels() {
  return {"matmul_f32", "matmul_f32_t128", "column_sum_f32"};
}

// Chooses the kernel by shape and device: a large tile where there are enough of them to fill the
// device, the portable tile otherwise; few results with a long k are computed as partial products
// and summed. The bias is an epilogue, and so is what fusion adds later.
absl::Status EmitProduct(LowerContext& context, const Product& product);

// Multiprocessors of the device; a guess where its profile does not say.
uint64_t ComputeUnits(const LowerContext& context);

// Whether the large tile wins: the kernel can compute the product, and there are nearly enough
// tiles to fill the device.
bool SuitsLargeTile(const LowerContext& context, const Product& product);

// The kernel `base`, or its large tile where that is wanted and the device can run it.
absl::StatusOr<const Kernel*> SelectTile(const LowerContext& context, const std::string& base,
                                         bool large);

// out[j] = sum over rows of x[rows, columns], rows ascending within fixed chunks.
absl::Status EmitColumnSum(LowerContext& context, BufferSlice x, uint64_t rows, uint64_t columns,
                           BufferSlice out);

}  // namespace oa::ir

#endif  // OA_IR_OPS_MATMUL_H_
