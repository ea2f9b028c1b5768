#include "executor/memory_report.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "executor/pipelines.h"
#include "executor/program.h"

namespace oa::exec {
namespace {

constexpr size_t kLargest = 10;
constexpr size_t kNameWidth = 36;
constexpr int kBufferKinds = 6;

// Keeps the end, which is what tells long paths of names apart.
std::string Shorten(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  return absl::StrCat("...", text.substr(text.size() - (width - 3)));
}

std::string ArenaTable(const Plan& plan) {
  std::string text = "  arena  kind              size  buffers\n";
  for (size_t i = 0; i < plan.arenas.size(); ++i) {
    const size_t buffers =
        std::count_if(plan.buffers.begin(), plan.buffers.end(),
                      [&](const PlanBuffer& buffer) { return buffer.arena == i; });
    absl::StrAppendFormat(&text, "  %5u  %-10s  %10s  %7u%s\n", i,
                          ArenaKindName(plan.arenas[i].kind), HumanBytes(plan.arenas[i].size_bytes),
                          buffers,
                          plan.arenas[i].kind == ArenaKind::kIo ? "  per replay in flight" : "");
  }
  return text;
}

// Values can share a place when they live at different times, so the sums are of values.
std::string KindTable(const Plan& plan) {
  std::array<uint64_t, kBufferKinds> bytes = {};
  std::array<uint64_t, kBufferKinds> count = {};
  for (const PlanBuffer& buffer : plan.buffers) {
    const size_t kind = static_cast<size_t>(buffer.kind);
    if (kind >= kBufferKinds) continue;
    bytes[kind] += buffer.size_bytes;
    ++count[kind];
  }
  std::string text = "  values       count         sum\n";
  for (int kind = 0; kind < kBufferKinds; ++kind) {
    if (count[kind] == 0) continue;
    absl::StrAppendFormat(&text, "  %-10s  %6u  %10s\n",
                          BufferKindName(static_cast<BufferKind>(kind)), count[kind],
                          HumanBytes(bytes[kind]));
  }
  return text;
}

std::string LargestTable(const Plan& plan) {
  std::vector<size_t> order(plan.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return plan.buffers[a].size_bytes > plan.buffers[b].size_bytes;
  });
  order.resize(std::min(order.size(), kLargest));
  std::string text = "  largest     kind        name\n";
  for (size_t i : order) {
    const PlanBuffer& buffer = plan.buffers[i];
    absl::StrAppendFormat(&text, "  %10s  %-10s  %s  %s\n", HumanBytes(buffer.size_bytes),
                          BufferKindName(buffer.kind), Shorten(buffer.name, kNameWidth),
                          Shorten(TypeText(buffer.dtype, buffer.shape), 16));
  }
  return text;
}

}  // namespace

std::string HumanBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

const char* ArenaKindName(ArenaKind kind) {
  switch (kind) {
    case ArenaKind::kTransient:
      return "transient";
    case ArenaKind::kPersistent:
      return "persistent";
    case ArenaKind::kIo:
      return "io";
  }
  return "unknown";
}

std::string MemoryReport(const Plan& plan) {
  uint64_t total = 0;
  for (const PlanArena& arena : plan.arenas) total += arena.size_bytes;
  const size_t pipelines = PlanPipelines(plan).specs.size();
  return absl::StrCat("plan \"", Shorten(plan.name, 60), "\"\n  ", HumanBytes(total), " in ",
                      plan.arenas.size(), " arenas; ", pipelines, " pipelines, ",
                      plan.dispatches.size(), " dispatches, ", plan.stages.size(), " stages\n",
                      ArenaTable(plan), KindTable(plan), LargestTable(plan));
}

}  // namespace oa::exec
