// Packing: offsets for buffers that live for a range of stages. Pure; place.cc uses it.
#ifndef OA_IR_PASSES_PACKING_H_
#define OA_IR_PASSES_PACKING_H_

#include <cstdint>
#include <vector>

namespace oa::ir {

// A buffer to pack. Bytes include padding and guards.
struct PackItem {
  uint64_t bytes = 0;
  uint32_t first_stage = 0;
  uint32_t last_stage = 0;  // inclusive
};

struct PackPlace {
  uint32_t chunk = 0;
  uint64_t offset = 0;
};

struct Packing {
  std::vector<PackPlace> places;      // one an item
  std::vector<uint64_t> chunk_bytes;  // none above the limit
  uint64_t TotalBytes() const;
};

// No two items whose stages meet share a byte. Chunks hold at most `chunk_limit` bytes; every item
// fits one. The smaller of greedy by size and greedy by breadth.
Packing PackByLifetime(const std::vector<PackItem>& items, uint64_t chunk_limit);

// One behind the other, in order.
Packing PackInOrder(const std::vector<PackItem>& items, uint64_t chunk_limit);

}  // namespace oa::ir

#endif  // OA_IR_PASSES_PACKING_H_
