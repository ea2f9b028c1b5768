#include "tools/run/trace.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "schema/file_io.h"
#include "tools/common/describe_json.h"
#include "tools/common/exit_codes.h"
#include "tools/common/table.h"

namespace oa::tools {
namespace {

constexpr int kHostProcess = 1;
constexpr int kDeviceProcess = 2;

struct KernelSum {
  uint64_t calls = 0;
  uint64_t ns = 0;
  double flops = 0;
  double bytes = 0;
};

std::vector<uint32_t> StageOfDispatch(const Plan& plan) {
  std::vector<uint32_t> stages(plan.dispatches.size(), 0);
  for (uint32_t s = 0; s < plan.stages.size(); ++s) {
    for (uint32_t k = 0; k < plan.stages[s].dispatch_count; ++k) {
      stages[plan.stages[s].first_dispatch + k] = s;
    }
  }
  return stages;
}

OrderedJson Complete(int process, int track, const std::string& name, double start_us,
                     double end_us) {
  return {{"name", name}, {"ph", "X"},      {"pid", process},
          {"tid", track}, {"ts", start_us}, {"dur", std::max(0.0, end_us - start_us)}};
}

OrderedJson Name(const char* what, int process, int track, const std::string& name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

// Gives overlapping dispatches different lanes: events of one track must not overlap.
class Lanes {
 public:
  int Place(uint64_t start, uint64_t end) {
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i] > start) continue;
      ends_[i] = end;
      return static_cast<int>(i);
    }
    ends_.push_back(end);
    return static_cast<int>(ends_.size()) - 1;
  }
  int count() const { return static_cast<int>(ends_.size()); }

 private:
  std::vector<uint64_t> ends_;
};

void AddHostEvents(const Timeline& timeline, OrderedJson& events) {
  events.push_back(Name("process_name", kHostProcess, 0, "host"));
  for (const Timeline::Event& e : timeline.events()) {
    events.push_back(Complete(kHostProcess, 0, e.name, e.start_us, e.end_us));
  }
}

void AddStageEvents(const Plan& plan, const std::vector<exec::DispatchTime>& times,
                    double origin_us, OrderedJson& events) {
  const std::vector<uint32_t> stage_of = StageOfDispatch(plan);
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> spans;
  for (const exec::DispatchTime& t : times) {
    const auto [it, fresh] =
        spans.try_emplace(stage_of[t.dispatch], t.last_start_ns, t.last_end_ns);
    if (fresh) continue;
    it->second.first = std::min(it->second.first, t.last_start_ns);
    it->second.second = std::max(it->second.second, t.last_end_ns);
  }
  events.push_back(Name("thread_name", kDeviceProcess, 0, "stages"));
  for (const auto& [stage, span] : spans) {
    events.push_back(Complete(kDeviceProcess, 0, absl::StrCat("stage ", stage),
                              origin_us + span.first / 1e3, origin_us + span.second / 1e3));
  }
}

void AddDispatchEvents(const Plan& plan, std::vector<exec::DispatchTime> times, double origin_us,
                       OrderedJson& events) {
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.last_start_ns < b.last_start_ns; });
  const std::vector<uint32_t> stage_of = StageOfDispatch(plan);
  Lanes lanes;
  for (const exec::DispatchTime& t : times) {
    const PlanDispatch& d = plan.dispatches[t.dispatch];
    const int lane = lanes.Place(t.last_start_ns, t.last_end_ns);
    OrderedJson event =
        Complete(kDeviceProcess, lane + 1, d.label, origin_us + t.last_start_ns / 1e3,
                 origin_us + t.last_end_ns / 1e3);
    event["args"] = {{"kernel", plan.kernels[d.kernel].name},
                     {"dispatch", t.dispatch},
                     {"stage", stage_of[t.dispatch]},
                     {"flops", d.flops},
                     {"bytes", d.bytes_read + d.bytes_written}};
    events.push_back(std::move(event));
  }
  for (int lane = 0; lane < lanes.count(); ++lane) {
    events.push_back(
        Name("thread_name", kDeviceProcess, lane + 1, absl::StrCat("dispatches ", lane)));
  }
}

}  // namespace

std::string KernelTable(const Plan& plan, const std::vector<exec::DispatchTime>& times) {
  std::map<std::string, KernelSum> sums;
  uint64_t total_ns = 0;
  for (const exec::DispatchTime& t : times) {
    const PlanDispatch& d = plan.dispatches[t.dispatch];
    KernelSum& sum = sums[plan.kernels[d.kernel].name];
    sum.calls += t.count;
    sum.ns += t.total_ns;
    sum.flops += static_cast<double>(d.flops) * static_cast<double>(t.count);
    sum.bytes += static_cast<double>(d.bytes_read + d.bytes_written) * static_cast<double>(t.count);
    total_ns += t.total_ns;
  }
  std::vector<std::pair<std::string, KernelSum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"kernel", Table::Align::kLeft, true},
               {"calls", kRight},
               {"total ms", kRight},
               {"%", kRight},
               {"GFLOP/s", kRight},
               {"GB/s", kRight}});
  for (const auto& [name, sum] : order) {
    const double ns = static_cast<double>(std::max<uint64_t>(1, sum.ns));
    table.Add({name, absl::StrCat(sum.calls), absl::StrFormat("%.3f", sum.ns / 1e6),
               absl::StrFormat("%.1f", 100.0 * sum.ns / std::max<uint64_t>(1, total_ns)),
               absl::StrFormat("%.2f", sum.flops / ns), absl::StrFormat("%.2f", sum.bytes / ns)});
  }
  return table.Text();
}

absl::Status WriteTrace(const std::string& path, const Plan& plan,
                        const std::vector<exec::DispatchTime>& times, const Timeline& timeline,
                        double replay_start_us) {
  OrderedJson events = OrderedJson::array();
  AddHostEvents(timeline, events);
  events.push_back(Name("process_name", kDeviceProcess, 0, "device (latest replay)"));
  AddStageEvents(plan, times, replay_start_us, events);
  AddDispatchEvents(plan, times, replay_start_us, events);
  const std::string text =
      JsonText({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}});
  const absl::Span<const uint8_t> part(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  return WithExit(WriteFileAtomically(path, {part}), kExitFile);
}

}  // namespace oa::tools
