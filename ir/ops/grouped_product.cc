#include "ir/ops/grouped_product.h"

#include <algorithm>
#include <utility>

#include "schema/checked_math.h"
#include "schema/status_macros.h"

namespace oa::ir {
namespace {

// Loop iterations of a CPU kernel per tile: one per 8 rows or terms, and those around them.
constexpr uint64_t kCpuSlice = 8;
constexpr uint64_t kTileIterations = 96;
// The rows of all groups together are summed in so many shares that none has more than this: CPU
// devices limit the iterations of a loop, and one group may have all rows.
constexpr uint64_t kMostRowsOnCpu = 200000;
// Rows of an average group from which on it is given large tiles.
constexpr uint64_t kRowsForLargeTile = 128;
// A share has at least this many rows where groups are equal.
constexpr uint64_t kLeastRowsOfShare = 256;

// Into how many shares the rows of each group are cut so that `tiles` a share fill the device.
uint64_t Shares(const LowerContext& context, uint64_t tiles, uint64_t rows, uint64_t groups) {
  if (context.profile().is_cpu) return CeilDiv(rows, kMostRowsOnCpu);
  const uint64_t wanted = 2 * ComputeUnits(context) / std::max<uint64_t>(tiles, 1);
  return std::max<uint64_t>(std::min(wanted, rows / groups / kLeastRowsOfShare), 1);
}

absl::StatusOr<const Kernel*> Select(const LowerContext& context, bool large) {
  return SelectTile(context, "matmul_grouped_f32", large);
}

// What both kinds of product pass to the kernel before the epilogue.
KernelCall Call(const Kernel* kernel, const Groups& groups, const Product& p) {
  KernelCall call(kernel);
  call.Buffer(p.a.slice).Buffer(p.b.slice).Buffer(groups.offsets).Buffer(p.bias);
  call.U32(p.m).U32(p.n).U32(p.k).U32(p.batch);
  call.U32(p.a.row_stride).U32(p.a.column_stride).U32(p.a.batch_stride);
  call.U32(p.b.row_stride).U32(p.b.column_stride).U32(p.b.batch_stride);
  call.U32(groups.count).Flops(2 * p.m * p.n * p.k);
  return call;
}

}  // namespace

absl::Status EmitGroupedProduct(LowerContext& context, const Groups& groups,
                                const Product& product) {
  // Each group ends in a tile of its own: large ones pay where groups fill some.
  const bool large =
      product.m / groups.count >= kRowsForLargeTile && SuitsLargeTile(context, product);
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, Select(context, large));
  KernelCall call = Call(kernel, groups, product);
  call.Constant("has_bias", product.bias.size_bytes != 0);
  call.Epilogue(product.out);
  // The last two: rows before and behind all groups.
  const uint64_t tiles =
      (product.m / kernel->tile[0] + groups.count + 2) * CeilDiv(product.n, kernel->tile[1]);
  OA_ASSIGN_OR_RETURN(const uint64_t workgroups,
                      context.RowGroups(tiles, product.k / kCpuSlice + kTileIterations));
  return context.Emit(std::move(call.Grid(workgroups)));
}

absl::Status EmitGroupedSum(LowerContext& context, const Groups& groups, const Product& product) {
  Product parts = product;
  parts.batch = groups.count;
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, Select(context, SuitsLargeTile(context, parts)));
  const uint64_t tiles =
      CeilDiv(product.m, kernel->tile[0]) * CeilDiv(product.n, kernel->tile[1]) * groups.count;
  const uint64_t count = groups.count * product.m * product.n;
  parts.batch = Shares(context, tiles, product.k, groups.count);
  if (parts.batch > 1) {
    parts.out = context.Scratch("partial_products", DType::F32, {parts.batch, count});
  }
  KernelCall call = Call(kernel, groups, parts);
  call.Constant("summed", 1).Epilogue(parts.out);
  OA_ASSIGN_OR_RETURN(
      const uint64_t workgroups,
      context.RowGroups(tiles * parts.batch,
                        CeilDiv(product.k, parts.batch) / kCpuSlice + kTileIterations));
  OA_RETURN_IF_ERROR(context.Emit(std::move(call.Grid(workgroups))));
  if (parts.batch == 1) return absl::OkStatus();
  return EmitColumnSum(context, parts.out, parts.batch, count, product.out);
}

absl::Status EmitGroupedColumnSum(LowerContext& context, const Groups& groups, BufferSlice x,
                                  uint64_t rows, uint64_t columns, BufferSlice out) {
  OA_ASSIGN_OR_RETURN(const Kernel* kernel, context.Select("column_sum_grouped_f32"));
  const uint64_t tiles = groups.count * CeilDiv(columns, kernel->tile[0]);
  const uint64_t shares = Shares(context, tiles, rows, groups.count);
  const uint64_t count = groups.count * columns;
  BufferSlice sums = out;
  if (shares > 1) sums = context.Scratch("partial_column_sums", DType::F32, {shares, count});
  KernelCall call(kernel);
  call.Buffer(x).Buffer(groups.offsets).U32(rows).U32(columns).U32(groups.count).U32(shares);
  call.Flops(rows * columns).Epilogue(sums);
  OA_ASSIGN_OR_RETURN(
      const uint64_t workgroups,
      context.RowGroups(tiles * shares, CeilDiv(rows, shares) / 4 + kTileIterations));
  OA_RETURN_IF_ERROR(context.Emit(std::move(call.Grid(workgroups))));
  if (shares == 1) return absl::OkStatus();
  return EmitColumnSum(context, sums, shares, count, out);
}

}  // namespace oa::ir
