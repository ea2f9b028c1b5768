#include "tools/run/reporter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/common/element.h"
#include "tools/common/run_main.h"
#include "tools/common/text.h"
#include "tools/run/command.h"

namespace oa::tools {
namespace {

// How much of an output's content is shown when it is not written to a file.
constexpr uint64_t kShownValues = 8;
constexpr uint64_t kJsonValues = 64;

OrderedJson ScalarsJson(const Scalars& scalars, bool whole_epoch) {
  OrderedJson out = OrderedJson::object();
  for (const Scalars::Value& v : scalars.values()) {
    out[v.name] = !whole_epoch ? v.last : v.is_count ? v.sum : v.Mean();
  }
  return out;
}

}  // namespace

void Reporter::Text(absl::string_view line) {
  if (!shows_text()) return;
  std::fprintf(stdout, "%s\n", std::string(line).c_str());
  std::fflush(stdout);
}

void Reporter::Event(absl::string_view event, OrderedJson fields) {
  if (!json_) return;
  OrderedJson line = {{"event", std::string(event)}};
  line.update(fields);
  std::fprintf(stdout, "%s\n", JsonText(line).c_str());
  std::fflush(stdout);
}

void Reporter::Note(absl::string_view sentence) {
  if (!quiet_) PrintNote(kProgram, sentence);
}

void Reporter::Start(const exec::DeviceInfo& device, const exec::Program& program) {
  const Plan& plan = program.plan();
  const exec::ProgramStats& stats = program.stats();
  Text(absl::StrCat("device   ", device.name, " (", device.driver, ")"));
  Text(absl::StrCat(
      "model    ", Printable(plan.name), ": ", Counted(plan.dispatches.size(), "dispatch"), " in ",
      Counted(plan.stages.size(), "stage"), "; ", Counted(stats.pipelines, "pipeline"),
      " ready in ", HumanSeconds(stats.pipeline_ms / 1e3), stats.cache_hit ? " (cached)" : ""));
  Event("start", {{"device", device.name},
                  {"driver", device.driver},
                  {"model", plan.name},
                  {"graph_identity", absl::StrFormat("%016x", plan.graph_identity)},
                  {"dispatches", plan.dispatches.size()},
                  {"stages", plan.stages.size()},
                  {"pipelines", stats.pipelines},
                  {"pipeline_ms", stats.pipeline_ms},
                  {"cache_hit", stats.cache_hit}});
}

void Reporter::Step(uint64_t step, const Scalars& scalars) {
  Text(absl::StrCat("step ", step, "  ", scalars.LastText()));
  Event("step", {{"step", step}, {"outputs", ScalarsJson(scalars, false)}});
}

void Reporter::Epoch(const EpochFigures& f, const Scalars& scalars) {
  const double rate = f.seconds > 0 ? static_cast<double>(f.rows) / f.seconds : 0;
  const std::string figures = scalars.EpochText(f.rows);
  Text(absl::StrCat("epoch ", f.epoch, "/", f.epochs, "  ", figures, figures.empty() ? "" : "  ",
                    HumanSeconds(f.seconds), "  ", HumanNumber(std::round(rate)), " rows/s"));
  Event("epoch", {{"epoch", f.epoch},
                  {"epochs", f.epochs},
                  {"steps", f.steps},
                  {"rows", f.rows},
                  {"seconds", f.seconds},
                  {"rows_per_s", rate},
                  {"outputs", ScalarsJson(scalars, true)}});
}

void Reporter::Output(const PlanIo& io, absl::Span<const uint8_t> bytes, const std::string& path) {
  const std::string type = TypeText(io.dtype, io.shape);
  if (path.empty()) {
    Text(absl::StrCat(Printable(io.name), "  ", type, "  ",
                      FirstElements(io.dtype, bytes, kShownValues)));
  } else {
    Text(absl::StrCat("wrote ", path, "  ", Printable(io.name), " ", type));
  }
  OrderedJson fields = {{"name", io.name},
                        {"dtype", std::string(DTypeName(io.dtype))},
                        {"shape", std::vector<uint64_t>(io.shape.begin(), io.shape.end())}};
  if (!path.empty()) {
    fields["path"] = path;
  } else {
    OrderedJson values = OrderedJson::array();
    const uint64_t count = bytes.size() / SizeOf(io.dtype);
    for (uint64_t i = 0; i < std::min(count, kJsonValues); ++i) {
      values.push_back(ElementAt(io.dtype, bytes, i));
    }
    fields["values"] = std::move(values);
    fields["complete"] = count <= kJsonValues;
  }
  Event("output", std::move(fields));
}

void Reporter::Saved(absl::string_view what, const std::string& path, uint64_t tensors) {
  Text(absl::StrCat("saved ", path, "  ", what, ", ", Counted(tensors, "tensor")));
  Event("saved", {{"what", std::string(what)}, {"path", path}, {"tensors", tensors}});
}

void Reporter::Final(uint64_t steps, double seconds, bool interrupted) {
  Text(absl::StrCat(interrupted ? "interrupted after " : "done     ", Counted(steps, "step"),
                    " in ", HumanSeconds(seconds)));
  Event("final", {{"steps", steps}, {"seconds", seconds}, {"interrupted", interrupted}});
}

}  // namespace oa::tools
