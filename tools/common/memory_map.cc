#include "tools/common/memory_map.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "schema/fnv.h"
#include "tools/common/html.h"
#include "tools/common/text.h"

namespace oa::tools {
namespace {

constexpr double kWidth = 1100;
constexpr double kLeft = 80;  // for the byte axis
constexpr double kTop = 6;
constexpr double kBottom = 22;  // for the stage axis
constexpr size_t kMaxRectangles = 5000;

double DrawingHeight(ArenaKind kind) { return kind == ArenaKind::kTransient ? 420 : 160; }

std::vector<const PlanBuffer*> BuffersOf(const Plan& plan, uint32_t arena) {
  std::vector<const PlanBuffer*> buffers;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.arena == arena && buffer.size_bytes > 0) buffers.push_back(&buffer);
  }
  std::stable_sort(buffers.begin(), buffers.end(), [](const PlanBuffer* a, const PlanBuffer* b) {
    return a->size_bytes > b->size_bytes;
  });
  return buffers;
}

// A stable colour a name: the same value has the same colour in every report.
int Hue(const std::string& name) {
  Fnv1a64 hash;
  hash.Text(name);
  return static_cast<int>(hash.value() % 360);
}

std::string Rectangle(const PlanBuffer& b, double x_scale, double y_scale) {
  const double x = kLeft + x_scale * b.first_stage;
  const double width = x_scale * (double{1} + b.last_stage - b.first_stage);
  const double y = kTop + y_scale * static_cast<double>(b.offset);
  const double height = std::max(0.5, y_scale * static_cast<double>(b.size_bytes));
  return absl::StrFormat(
      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%d 55%% 55%% / .8)\">"
      "<title>%s %s %s, %s at %u, stages %u to %u</title></rect>\n",
      x, y, width, height, Hue(b.name), BufferKindName(b.kind), HtmlEscape(b.name),
      TypeText(b.dtype, b.shape), HumanBytes(b.size_bytes), b.offset, b.first_stage, b.last_stage);
}

std::string Axes(uint64_t bytes, size_t stages, double height) {
  std::string out;
  constexpr int kTicks = 4;
  for (int i = 0; i <= kTicks; ++i) {
    const double y = kTop + height * i / kTicks;
    absl::StrAppendFormat(&out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                          kLeft - 6, y + 4, HumanBytes(bytes / kTicks * i));
  }
  absl::StrAppendFormat(&out, "<text x=\"%.0f\" y=\"%.1f\">stage 0</text>\n", kLeft,
                        kTop + height + 16);
  absl::StrAppendFormat(&out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">stage %u</text>\n",
                        kWidth, kTop + height + 16, stages - 1);
  return out;
}

}  // namespace

const char* ArenaName(ArenaKind kind) {
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

std::string MemoryMapSvg(const Plan& plan, uint32_t arena) {
  const PlanArena& a = plan.arenas[arena];
  const std::vector<const PlanBuffer*> buffers = BuffersOf(plan, arena);
  const size_t stages = std::max<size_t>(1, plan.stages.size());
  const double height = DrawingHeight(a.kind);
  const double x_scale = (kWidth - kLeft) / static_cast<double>(stages);
  const double y_scale = height / static_cast<double>(std::max<uint64_t>(1, a.size_bytes));
  std::string out = absl::StrFormat(
      "<svg viewBox=\"0 0 %.0f %.0f\" width=\"100%%\" role=\"img\" "
      "aria-label=\"memory of arena %u over the stages\">\n",
      kWidth + 10, kTop + height + kBottom, arena);
  const size_t drawn = std::min(buffers.size(), kMaxRectangles);
  for (size_t i = 0; i < drawn; ++i) {
    absl::StrAppend(&out, Rectangle(*buffers[i], x_scale, y_scale));
  }
  absl::StrAppend(&out, Axes(a.size_bytes, stages, height), "</svg>\n");
  if (drawn < buffers.size()) {
    absl::StrAppend(&out, "<p>The ", drawn, " largest of ", buffers.size(), " values.</p>\n");
  }
  return out;
}

}  // namespace oa::tools
