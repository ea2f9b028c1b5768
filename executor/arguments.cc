#include "executor/arguments.h"

#include <cstring>

namespace oa::exec {
namespace {

uint64_t RecordCount(const PlanDispatch& dispatch, const Kernel& kernel) {
  if (kernel.records.empty()) return 0;
  return (dispatch.arguments.size() - kernel.arguments.size()) / kernel.records.size();
}

uint64_t AddressOf(const Plan& plan, const PlanArgument& argument,
                   absl::Span<const uint64_t> arena_addresses) {
  if (argument.size_bytes == 0) return 0;
  const PlanBuffer& buffer = plan.buffers[argument.buffer];
  return arena_addresses[buffer.arena] + buffer.offset + argument.offset;
}

// Byte offset of the i-th argument inside its block.
uint64_t OffsetOf(const Kernel& kernel, const ArgumentLayout& layout, size_t i) {
  if (i < kernel.arguments.size()) return layout.offsets[i];
  const size_t in_records = i - kernel.arguments.size();
  const size_t record = in_records / kernel.records.size();
  return layout.records_offset + record * uint64_t{layout.record_stride} +
         layout.record_offsets[in_records % kernel.records.size()];
}

}  // namespace

ArgumentBlocks PlaceArgumentBlocks(const Plan& plan, absl::Span<const Kernel> kernels) {
  ArgumentBlocks blocks;
  blocks.offsets.reserve(plan.dispatches.size());
  for (const PlanDispatch& dispatch : plan.dispatches) {
    const Kernel& kernel = kernels[dispatch.kernel];
    blocks.offsets.push_back(blocks.size_bytes);
    blocks.size_bytes += LayoutArguments(kernel).Size(RecordCount(dispatch, kernel));
  }
  return blocks;
}

void WriteArgumentBlocks(const Plan& plan, absl::Span<const Kernel> kernels,
                         const ArgumentBlocks& blocks, absl::Span<const uint64_t> arena_addresses,
                         absl::Span<uint8_t> out) {
  std::memset(out.data(), 0, out.size());
  for (size_t d = 0; d < plan.dispatches.size(); ++d) {
    const PlanDispatch& dispatch = plan.dispatches[d];
    const Kernel& kernel = kernels[dispatch.kernel];
    const ArgumentLayout layout = LayoutArguments(kernel);
    uint8_t* block = out.data() + blocks.offsets[d];
    for (size_t i = 0; i < dispatch.arguments.size(); ++i) {
      const PlanArgument& argument = dispatch.arguments[i];
      uint8_t* place = block + OffsetOf(kernel, layout, i);
      if (argument.kind == ArgumentKind::kBuffer) {
        const uint64_t address = AddressOf(plan, argument, arena_addresses);
        std::memcpy(place, &address, sizeof(address));
      } else {
        std::memcpy(place, &argument.bits, sizeof(argument.bits));
      }
    }
  }
}

}  // namespace oa::exec
