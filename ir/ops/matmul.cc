#include "ir/ops/matmul.h"

#include <algorithm>
#include <utility>

#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Loop iterations of a CPU kernel per tile: one per slice of k, and a few around them.
constexpr uint64_t kCpuSlice = 8;
constexpr uint64_t kTileIterations = 64;

constexpr uint64_t kLargeTile = 128;
// Multiprocessors of a GPU whose profile does not say.
constexpr uint64_t kDefaultComputeUnits = 128;
// Products with few results but a long k are cut into partial products of at least this many k.
constexpr uint64_t kMinSplitK = 256;
// Rows a column sum adds in one go; longer columns are summed in chunks, then the chunks.
constexpr uint64_t kMaxRowsAtOnce = 1024;
constexpr uint64_t kRowsPerChunk = 256;

// Whether the large tile can read the operand four floats at a time: `lines` is its extent along
// the axis that is not k.
bool ReadsQuads(const MatrixView& view, uint64_t line_stride, uint64_t k_stride, uint64_t lines) {
  const bool along_k = k_stride < line_stride;
  return std::min(line_stride, k_stride) == 1 && std::max(line_stride, k_stride) % 4 == 0 &&
         view.batch_stride % 4 == 0 && view.slice.offset % 16 == 0 && (along_k || lines % 4 == 0);
}

// Whether large tiles would compute much behind the edges of the results: more than half as much
// again as tiles of half the side, for example for the 64 x 64 products of batched small matrices.
bool WastesLargeTile(const Product& p) {
  constexpr uint64_t kHalf = kLargeTile / 2;
  const uint64_t large = AlignUp(p.m, kLargeTile) * AlignUp(p.n, kLargeTile);
  return 2 * large > 3 * AlignUp(p.m, kHalf) * AlignUp(p.n, kHalf);
}

absl::StatusOr<const Kernel*> SelectProduct(const LowerContext& context, const Product& product) {
  return SelectTile(context, "matmul_f32", SuitsLargeTile(context, product));
}

uint64_t Tiles(const Product& p, const Kernel& kernel) {
  return CeilDiv(p.m, kernel.tile[0]) * CeilDiv(p.n, kernel.tile[1]) * p.batch;
}

// Into how many equal parts to cut k so that the device is filled; 1: not at all. Partial products
// are then a batch, and their sum is a column sum, so the order of additions stays fixed.
uint64_t SplitsOfK(const LowerContext& context, const Product& p, const Kernel& kernel) {
  const uint64_t tiles = Tiles(p, kernel);
  if (context.profile().is_cpu || p.batch != 1 || 2 * tiles > ComputeUnits(context)) return 1;
  uint64_t splits = std::min(2 * ComputeUnits(context) / tiles, p.k / kMinSplitK);
  while (splits > 1 && p.k % splits != 0) --splits;
  return std::max<uint64_t>(splits, 1);
}

// Stores the accumulator, plus a bias per column when there is one.
EwProgram StoreProgram(uint64_t count, BufferSlice bias, uint64_t columns, BufferSlice out) {
  EwBuilder builder(count);
  EwBuilder::Reg value = builder.Input(EwInput());  // the accumulator
  if (bias.size_bytes != 0) {
    EwInput input;
    input.slice = bias;
    input.mode = OA_EW_PERIODIC;
    input.mod = static_cast<uint32_t>(columns);
    input.count = columns;
    value = builder.Op2(OA_EW_ADD, value, builder.Input(input));
  }
  builder.Output(value, out);
  return builder.Build();
}

// One dispatch: rows in chunks, `epilogue` over the sums [ceil(rows / chunk), columns].
absl::Status EmitColumnSumPass(LowerContext& context, BufferSlice x, uint64_t rows,
                               uint64_t columns, uint64_t chunk, EwProgram epilogue) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, context.Select("column_sum_f32"));
  const uint64_t parts = CeilDiv(rows, chunk);
  KernelCall call(kernel);
  call.Buffer(x).U32(rows).U32(columns).U32(chunk).Flops(rows * columns);
  call.Epilogue(std::move(epilogue));
  const uint64_t tiles = parts * CeilDiv(columns, kernel->tile[0]);
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      context.RowGroups(tiles, std::min(rows, chunk) + kTileIterations));
  call.Grid(groups);
  return context.Emit(std::move(call));
}

absl::Status EmitWith(LowerContext& context, const Kernel* kernel, const Product& p) {
  KernelCall call(kernel);
  call.Buffer(p.a.slice).Buffer(p.b.slice);
  call.U32(p.m).U32(p.n).U32(p.k).U32(p.batch);
  call.U32(p.a.row_stride).U32(p.a.column_stride).U32(p.a.batch_stride);
  call.U32(p.b.row_stride).U32(p.b.column_stride).U32(p.b.batch_stride);
  call.Flops(2 * p.batch * p.m * p.n * p.k);
  call.Epilogue(StoreProgram(p.batch * p.m * p.n, p.bias, p.n, p.out));
  const uint64_t tiles = Tiles(p, *kernel);
  OA_ASSIGN_OR_RETURN(const uint64_t groups,
                      context.RowGroups(tiles, p.k / kCpuSlice + kTileIterations));
  call.Grid(groups);
  return context.Emit(std::move(call));
}

absl::Status EmitSplit(LowerContext& context, const Kernel* kernel, const Product& product,
                       uint64_t splits) {
  const uint64_t count = product.m * product.n;
  Product parts = product;
  parts.batch = splits;
  parts.k = product.k / splits;
  parts.a.batch_stride = parts.k * product.a.column_stride;
  parts.b.batch_stride = parts.k * product.b.row_stride;
  parts.bias = BufferSlice();
  parts.out = context.Scratch("partial_products", DType::F32, {splits, count});
  OA_RETURN_IF_ERROR(EmitWith(context, kernel, parts));
  return EmitColumnSumPass(context, parts.out, splits, count, splits,
                           StoreProgram(count, product.bias, product.n, product.out));
}

}  // namespace

uint64_t ComputeUnits(const LowerContext& context) {
  const uint32_t units = context.profile().compute_units;
  return units != 0 ? units : kDefaultComputeUnits;
}

absl::StatusOr<const Kernel*> SelectTile(const LowerContext& context, const std::string& base,
                                         bool large) {
  if (large) {
    absl::StatusOr<const Kernel*> kernel = context.Select(base + "_t128");
    if (kernel.ok()) return kernel;  // else the device lacks what the large tile needs
  }
  return context.Select(base);
}

bool SuitsLargeTile(const LowerContext& context, const Product& p) {
  const uint64_t tiles = CeilDiv(p.m, kLargeTile) * CeilDiv(p.n, kLargeTile) * p.batch;
  return !context.profile().is_cpu && p.n % 4 == 0 && !WastesLargeTile(p) &&
         4 * tiles >= 3 * ComputeUnits(context) &&
         ReadsQuads(p.a, p.a.row_stride, p.a.column_stride, p.m) &&
         ReadsQuads(p.b, p.b.column_stride, p.b.row_stride, p.n);
}

Product DenseProduct(Factor a, Factor b, uint64_t m, uint64_t n, uint64_t k, BufferSlice out,
                     uint64_t batch) {
  Product product = {.m = m, .n = n, .k = k, .batch = batch, .out = out};
  product.a = a.transposed ? MatrixView::Transposed(a.slice, m) : MatrixView::Dense(a.slice, k);
  product.b = b.transposed ? MatrixView::Transposed(b.slice, k) : MatrixView::Dense(b.slice, n);
  if (batch > 1) {
    product.a.batch_stride = m * k;
    product.b.batch_stride = k * n;
  }
  return product;
}

absl::Status EmitProduct(LowerContext& context, const Product& product) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, SelectProduct(context, product));
  const uint64_t splits = SplitsOfK(context, product, *kernel);
  if (splits > 1) return EmitSplit(context, kernel, product, splits);
  return EmitWith(context, kernel, product);
}

absl::Status EmitColumnSum(LowerContext& context, BufferSlice x, uint64_t rows, uint64_t columns,
                           BufferSlice out) {
  if (rows <= kMaxRowsAtOnce) {
    return EmitColumnSumPass(context, x, rows, columns, rows,
                             StoreProgram(columns, BufferSlice(), columns, out));
  }
  const uint64_t parts = CeilDiv(rows, kRowsPerChunk);
  const BufferSlice partial = context.Scratch("partial_sums", DType::F32, {parts, columns});
  OA_RETURN_IF_ERROR(
      EmitColumnSumPass(context, x, rows, columns, kRowsPerChunk,
                        StoreProgram(parts * columns, BufferSlice(), columns, partial)));
  return EmitColumnSum(context, partial, parts, columns, out);
}

}  // namespace oa::ir
