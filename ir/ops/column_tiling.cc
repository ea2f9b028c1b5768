#include "ir/ops/column_tiling.h"

#include <algorithm>
#include <bit>

#include "schema/checked_math.h"

namespace oa::ir {
namespace {

// The modes of columns.glsl.
constexpr uint32_t kStrided = 0, kRows = 1, kRowsVec4 = 2;

// Elements a lane should at least have, so that combining lanes does not dominate.
constexpr uint64_t kElementsPerLane = 8;
// Neighbouring columns of one workgroup that make reads of a strided axis contiguous.
constexpr uint64_t kCoalescedColumns = 32;
// From here on, one lane a column keeps a device busy.
constexpr uint64_t kManyColumns = uint64_t{1} << 17;
// Longest share of a lane: four accumulators of at most 4096 terms each.
constexpr uint64_t kLongestShare = uint64_t{1} << 14;

bool IsCpuVariant(const Kernel& kernel) { return kernel.device == KernelDevice::kCpu; }

uint64_t LanesOnGpu(uint64_t group, const AxisShape& shape) {
  uint64_t most = group;
  if (shape.inner > 1) {
    if (shape.columns() >= kManyColumns) return 1;
    most = group / std::min(std::bit_ceil(shape.inner), kCoalescedColumns);
  }
  const uint64_t wanted = std::bit_floor(std::max<uint64_t>(shape.extent / kElementsPerLane, 1));
  return std::min(wanted, most);
}

// One subgroup: all lanes on one column or each on its own.
uint64_t LanesOnCpu(uint64_t group, const AxisShape& shape) {
  const bool share = shape.inner == 1 ? shape.extent >= 4 * group : shape.columns() < group;
  return share ? group : 1;
}

// What the devices of a variant need: enough workgroups, and enough elements for each lane.
struct ChunkRule {
  uint64_t groups;
  uint64_t least_share;
  uint64_t least_chunks;
};
constexpr ChunkRule kGpuRule = {1024, 32, 4};
constexpr ChunkRule kCpuRule = {32, 512, 2};

}  // namespace

AxisShape AroundAxis(absl::Span<const uint64_t> shape, int64_t axis) {
  AxisShape around;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    (at < axis ? around.outer : at == axis ? around.extent : around.inner) *= shape[i];
  }
  return around;
}

uint64_t ColumnTiling::tiles(const AxisShape& shape) const {
  return CeilDiv(shape.columns(), width);
}

uint64_t ColumnTiling::blocks(uint64_t extent) const {
  return CeilDiv(extent, uint64_t{4} * lanes);
}

ColumnTiling ChooseTiling(const Kernel& kernel, const AxisShape& shape) {
  const uint64_t group = kernel.local_size[0];
  const uint64_t lanes =
      IsCpuVariant(kernel) ? LanesOnCpu(group, shape) : LanesOnGpu(group, shape);
  ColumnTiling tiling;
  tiling.lanes = static_cast<uint32_t>(lanes);
  tiling.width = static_cast<uint32_t>(group / lanes);
  tiling.mode = kStrided;
  // Every column starts at a multiple of 16 bytes, or there is only one.
  const bool aligned = shape.extent % 4 == 0 || shape.outer == 1;
  if (shape.inner == 1) tiling.mode = aligned ? kRowsVec4 : kRows;
  return tiling;
}

uint64_t ChooseChunk(const Kernel& kernel, const AxisShape& shape, const ColumnTiling& tiling) {
  const ChunkRule& rule = IsCpuVariant(kernel) ? kCpuRule : kGpuRule;
  const uint64_t lanes = tiling.lanes;
  uint64_t chunks = std::min(rule.groups / std::max<uint64_t>(tiling.tiles(shape), 1),
                             shape.extent / (lanes * rule.least_share));
  if (chunks < rule.least_chunks) chunks = 1;
  chunks = std::max(chunks, CeilDiv(shape.extent, lanes * kLongestShare));
  if (chunks <= 1) return shape.extent;
  // Whole blocks of four elements for every lane.
  return AlignUp(CeilDiv(shape.extent, chunks), 4 * lanes);
}

uint32_t RegisterBlocks(const AxisShape& shape, const ColumnTiling& tiling) {
  const uint64_t blocks = tiling.blocks(shape.extent);
  return blocks > 4 ? 0 : static_cast<uint32_t>(std::bit_ceil(blocks));
}

}  // namespace oa::ir
