// For each buffer a map of disjoint byte ranges remembers the last writer of the range and who has
// read it since. A read depends on that writer; a write depends on writer and readers and takes
// their place, so that each list is walked once by the write that ends it.
#include "ir/passes/dependencies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace oa::ir {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;

struct Range {
  uint64_t end = 0;
  uint32_t writer = kNobody;
  std::vector<uint32_t> readers;
};

class BufferHistory {
 public:
  // Appends what `reader` waits for.
  void Read(const BufferSlice& slice, uint32_t reader, std::vector<uint32_t>& waits_for) {
    const uint64_t end = slice.offset + slice.size_bytes;
    Split(slice.offset);
    Split(end);
    uint64_t position = slice.offset;
    while (position < end) {
      auto it = ranges_.lower_bound(position);
      if (it == ranges_.end() || it->first > position) {
        const uint64_t gap_end = it == ranges_.end() ? end : std::min(end, it->first);
        it = ranges_.emplace_hint(it, position, Range{gap_end, kNobody, {}});
      }
      Range& range = it->second;
      if (range.writer != kNobody) waits_for.push_back(range.writer);
      if (range.readers.empty() || range.readers.back() != reader) range.readers.push_back(reader);
      position = range.end;
    }
  }

  void Write(const BufferSlice& slice, uint32_t writer, std::vector<uint32_t>& waits_for) {
    const uint64_t end = slice.offset + slice.size_bytes;
    Split(slice.offset);
    Split(end);
    const auto first = ranges_.lower_bound(slice.offset);
    const auto last = ranges_.lower_bound(end);
    for (auto it = first; it != last; ++it) {
      const Range& range = it->second;
      if (range.writer != kNobody) waits_for.push_back(range.writer);
      waits_for.insert(waits_for.end(), range.readers.begin(), range.readers.end());
    }
    ranges_.erase(first, last);
    ranges_.emplace(slice.offset, Range{end, writer, {}});
  }

 private:
  // Makes `position` a boundary of ranges.
  void Split(uint64_t position) {
    auto it = ranges_.upper_bound(position);
    if (it == ranges_.begin()) return;
    --it;
    if (it->first == position || it->second.end <= position) return;
    Range tail = it->second;
    it->second.end = position;
    ranges_.emplace(position, std::move(tail));
  }

  std::map<uint64_t, Range> ranges_;  // by first byte
};

}  // namespace

Dependencies FindDependencies(absl::Span<const Dispatch> dispatches) {
  Dependencies result;
  result.before.resize(dispatches.size());
  result.after.resize(dispatches.size());
  absl::flat_hash_map<uint32_t, BufferHistory> histories;  // never iterated
  for (uint32_t i = 0; i < dispatches.size(); ++i) {
    std::vector<uint32_t>& before = result.before[i];
    const std::vector<Touch> touches = Touches(dispatches[i]);
    for (const Touch& touch : touches) {
      if (Reads(touch.access)) histories[touch.slice.buffer].Read(touch.slice, i, before);
    }
    for (const Touch& touch : touches) {
      if (Writes(touch.access)) histories[touch.slice.buffer].Write(touch.slice, i, before);
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    // A dispatch that updates in place meets itself as a reader.
    if (!before.empty() && before.back() == i) before.pop_back();
    for (uint32_t earlier : before) result.after[earlier].push_back(i);
  }
  return result;
}

std::vector<uint32_t> EarliestStages(const Dependencies& dependencies) {
  std::vector<uint32_t> stages(dependencies.before.size(), 0);
  for (size_t i = 0; i < stages.size(); ++i) {
    for (uint32_t earlier : dependencies.before[i]) {
      stages[i] = std::max(stages[i], stages[earlier] + 1);
    }
  }
  return stages;
}

}  // namespace oa::ir
