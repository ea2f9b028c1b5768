#include "ir/ops/matmul.h"

#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

constexpr uint64_t kLargeTile = 128;
// Large tiles needed before they beat small ones: about half the multiprocessors of a large GPU.
constexpr uint64_t kEnoughLargeTiles = 64;
// Rows a column sum adds in one go; longer columns are summed in chunks, then the chunks.
constexpr uint64_t kMaxRowsAtOnce = 1024;
constexpr uint64_t kRowsPerChunk = 256;

absl::StatusOr<const Kernel*> SelectProduct(const LowerContext& context, const Product& product) {
  const uint64_t tiles =
      CeilDiv(product.m, kLargeTile) * CeilDiv(product.n, kLargeTile) * product.batch;
  const bool large = product.n % 4 == 0 && tiles >= kEnoughLargeTiles;
  if (large && !context.profile().is_cpu) {
    absl::StatusOr<const Kernel*> kernel = context.Select("matmul_f32_t128");
    if (kernel.ok()) return kernel;  // else the device lacks what the large tile needs
  }
  return context.Select("matmul_f32");
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

absl::Status EmitColumnSumPass(LowerContext& context, BufferSlice x, uint64_t rows,
                               uint64_t columns, uint64_t chunk, BufferSlice out) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, context.Select("column_sum_f32"));
  const uint64_t parts = CeilDiv(rows, chunk);
  KernelCall call(kernel);
  call.Buffer(x).U32(rows).U32(columns).U32(chunk).Flops(rows * columns);
  call.Epilogue(StoreProgram(parts * columns, BufferSlice(), columns, out));
  call.Grid(context.RowGroups(parts * CeilDiv(columns, kernel->tile[0])));
  return context.Emit(std::move(call));
}

}  // namespace

absl::Status EmitProduct(LowerContext& context, const Product& p) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, SelectProduct(context, p));
  KernelCall call(kernel);
  call.Buffer(p.a.slice).Buffer(p.b.slice);
  call.U32(p.m).U32(p.n).U32(p.k).U32(p.batch);
  call.U32(p.a.row_stride).U32(p.a.column_stride).U32(p.a.batch_stride);
  call.U32(p.b.row_stride).U32(p.b.column_stride).U32(p.b.batch_stride);
  call.Flops(2 * p.batch * p.m * p.n * p.k);
  call.Epilogue(StoreProgram(p.batch * p.m * p.n, p.bias, p.n, p.out));
  call.Grid(context.RowGroups(CeilDiv(p.m, kernel->tile[0]) * CeilDiv(p.n, kernel->tile[1]) *
                              p.batch));
  return context.Emit(std::move(call));
}

absl::Status EmitColumnSum(LowerContext& context, BufferSlice x, uint64_t rows, uint64_t columns,
                           BufferSlice out) {
  if (rows <= kMaxRowsAtOnce) return EmitColumnSumPass(context, x, rows, columns, rows, out);
  const uint64_t parts = CeilDiv(rows, kRowsPerChunk);
  const BufferSlice partial = context.Scratch("partial_sums", DType::F32, {parts, columns});
  OA_RETURN_IF_ERROR(EmitColumnSumPass(context, x, rows, columns, kRowsPerChunk, partial));
  return EmitColumnSum(context, partial, parts, columns, out);
}

}  // namespace oa::ir
