// Greedy by size and greedy by breadth: Pisarchyk & Lee, "Efficient Memory Management for Deep
// Neural Net Inference", 2020. Both decide only the order of the items; each item then goes into
// the smallest gap that fits between the items it shares a stage with, or behind them all.
// O(items^2) with a small constant: 10,000 items take a few hundred milliseconds at most.
#include "ir/passes/packing.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace oa::ir {
namespace {

class Packer {
 public:
  Packer(const std::vector<PackItem>& items, uint64_t chunk_limit)
      : items_(items), chunk_limit_(chunk_limit) {
    result_.places.resize(items.size());
  }

  void Place(uint32_t item) {
    for (uint32_t chunk = 0;; ++chunk) {
      if (chunk == chunks_.size()) {
        chunks_.emplace_back();
        result_.chunk_bytes.push_back(0);
      }
      uint64_t offset = 0;
      if (!FindGap(chunks_[chunk], items_[item], offset)) continue;
      Put(item, chunk, offset);
      return;
    }
  }

  Packing Take() { return std::move(result_); }

 private:
  // Items of a chunk by offset.
  using Chunk = std::vector<uint32_t>;

  bool FindGap(const Chunk& chunk, const PackItem& item, uint64_t& offset) const {
    uint64_t best_gap = UINT64_MAX;
    uint64_t end = 0;  // of everything so far that lives in a stage of the item
    for (uint32_t other : chunk) {
      const PackItem& placed = items_[other];
      if (placed.last_stage < item.first_stage || item.last_stage < placed.first_stage) continue;
      const uint64_t start = result_.places[other].offset;
      if (start >= end && start - end >= item.bytes && start - end < best_gap) {
        best_gap = start - end;
        offset = end;
      }
      end = std::max(end, start + placed.bytes);
    }
    if (best_gap != UINT64_MAX) return true;
    offset = end;
    // An item alone in its chunk always fits.
    return item.bytes <= chunk_limit_ && end <= chunk_limit_ - item.bytes;
  }

  void Put(uint32_t item, uint32_t chunk, uint64_t offset) {
    result_.places[item] = {chunk, offset};
    result_.chunk_bytes[chunk] = std::max(result_.chunk_bytes[chunk], offset + items_[item].bytes);
    Chunk& members = chunks_[chunk];
    const auto place = std::upper_bound(
        members.begin(), members.end(), offset,
        [&](uint64_t at, uint32_t other) { return at < result_.places[other].offset; });
    members.insert(place, item);
  }

  const std::vector<PackItem>& items_;
  const uint64_t chunk_limit_;
  std::vector<Chunk> chunks_;
  Packing result_;
};

std::vector<uint32_t> BySize(const std::vector<PackItem>& items) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return items[a].bytes > items[b].bytes; });
  return order;
}

// Stages by the bytes alive in them, largest first; within a stage the largest item first.
std::vector<uint32_t> ByBreadth(const std::vector<PackItem>& items) {
  uint32_t stage_count = 0;
  for (const PackItem& item : items) stage_count = std::max(stage_count, item.last_stage + 1);
  std::vector<uint64_t> breadth(stage_count + 1, 0);
  for (const PackItem& item : items) {
    breadth[item.first_stage] += item.bytes;
    breadth[item.last_stage + 1] -= item.bytes;  // wraps; the running sum is right again
  }
  std::partial_sum(breadth.begin(), breadth.end(), breadth.begin());
  std::vector<uint32_t> rank(stage_count);  // position of a stage in the order of breadth
  std::vector<uint32_t> stages(stage_count);
  std::iota(stages.begin(), stages.end(), 0u);
  std::stable_sort(stages.begin(), stages.end(),
                   [&](uint32_t a, uint32_t b) { return breadth[a] > breadth[b]; });
  for (uint32_t i = 0; i < stage_count; ++i) rank[stages[i]] = i;
  // An item is placed with the broadest of its stages.
  std::vector<uint32_t> item_rank;
  for (const PackItem& item : items) {
    const auto first = rank.begin() + item.first_stage;
    item_rank.push_back(*std::min_element(first, rank.begin() + item.last_stage + 1));
  }
  std::vector<uint32_t> order = BySize(items);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return item_rank[a] < item_rank[b]; });
  return order;
}

Packing Pack(const std::vector<PackItem>& items, const std::vector<uint32_t>& order,
             uint64_t chunk_limit) {
  Packer packer(items, chunk_limit);
  for (uint32_t item : order) packer.Place(item);
  return packer.Take();
}

}  // namespace

uint64_t Packing::TotalBytes() const {
  return std::accumulate(chunk_bytes.begin(), chunk_bytes.end(), uint64_t{0});
}

Packing PackByLifetime(const std::vector<PackItem>& items, uint64_t chunk_limit) {
  Packing by_size = Pack(items, BySize(items), chunk_limit);
  Packing by_breadth = Pack(items, ByBreadth(items), chunk_limit);
  return by_breadth.TotalBytes() < by_size.TotalBytes() ? by_breadth : by_size;
}

Packing PackInOrder(const std::vector<PackItem>& items, uint64_t chunk_limit) {
  Packing result;
  for (const PackItem& item : items) {
    const bool fits = !result.chunk_bytes.empty() && item.bytes <= chunk_limit &&
                      result.chunk_bytes.back() <= chunk_limit - item.bytes;
    if (!fits) result.chunk_bytes.push_back(0);
    result.places.push_back(
        {static_cast<uint32_t>(result.chunk_bytes.size() - 1), result.chunk_bytes.back()});
    result.chunk_bytes.back() += item.bytes;
  }
  return result;
}

}  // namespace oa::ir
