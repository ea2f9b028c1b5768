// `oa-run bench`: times replays and relates them to what the device can do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "executor/session.h"
#include "schema/status_macros.h"
#include "tools/common/bind_inputs.h"
#include "tools/common/describe_json.h"
#include "tools/common/exit_codes.h"
#include "tools/common/kernel_lookup.h"
#include "tools/common/model.h"
#include "tools/common/run_main.h"
#include "tools/common/tensor_arg.h"
#include "tools/common/text.h"
#include "tools/run/command.h"
#include "tools/run/device_context.h"
#include "tools/run/interrupt.h"
#include "tools/run/roofline.h"

namespace oa::tools {
namespace {

struct BenchOptions {
  std::string model, kernels;
  std::vector<std::string> inputs;
  uint64_t warmup = 5;
  uint64_t iterations = 50;
  DeviceFlags device;
  bool no_fuse = false;
  bool no_roofline = false;
  bool json = false;
};

// One time of each replay.
class Times {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }
  void Sort() { std::sort(seconds_.begin(), seconds_.end()); }
  bool empty() const { return seconds_.empty(); }
  size_t count() const { return seconds_.size(); }
  double Quantile(double q) const {
    return seconds_[static_cast<size_t>(q * static_cast<double>(seconds_.size() - 1) + 0.5)];
  }
  double min() const { return seconds_.front(); }
  double median() const { return Quantile(0.5); }
  // Width of the middle 80% relative to the median.
  double spread() const { return (Quantile(0.9) - Quantile(0.1)) / median(); }

 private:
  std::vector<double> seconds_;
};

struct BenchResult {
  Times replay;  // on the host's clock, inputs and outputs included
  Times device;  // on the device's clock, first dispatch to last; empty without timestamps
  double flops = 0;
  double bytes = 0;
  std::optional<double> bandwidth;  // measured roofline, bytes per second

  // What throughput is computed from.
  double seconds() const { return device.empty() ? replay.median() : device.median(); }
};

// First dispatch to last of the latest replay; 0 when the device has no timestamps.
double DeviceSeconds(const std::vector<exec::DispatchTime>& profile) {
  uint64_t end_ns = 0;
  for (const exec::DispatchTime& time : profile) end_ns = std::max(end_ns, time.last_end_ns);
  return static_cast<double>(end_ns) * 1e-9;
}

absl::StatusOr<BoundInputs> BenchInputs(const BenchOptions& options, const Plan& plan) {
  std::vector<TensorArg> args;
  for (const std::string& text : options.inputs) {
    OA_ASSIGN_OR_RETURN(TensorArg arg, ParseTensorArg(text));
    args.push_back(std::move(arg));
  }
  BindOptions bind;
  bind.random_when_missing = true;
  return BindInputs(plan, args, bind);
}

absl::StatusOr<BenchResult> Measure(const BenchOptions& options, exec::Program& program,
                                    const BoundInputs& inputs) {
  exec::SessionOptions session_options;
  session_options.timestamps = true;
  auto session = exec::Session::Create(program, session_options);
  if (!session.ok()) return WithExit(session.status(), kExitDevice);
  const ByteViews views = ViewsOf(inputs);
  CatchInterrupts();
  BenchResult result;
  for (uint64_t i = 0; i < options.warmup + options.iterations && !Interrupted(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    const absl::Status status = (*session)->Run(views).status();
    if (!status.ok()) return WithExit(status, kExitDevice);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i < options.warmup) continue;
    result.replay.Add(taken.count());
    const double on_device = DeviceSeconds((*session)->profile());
    if (on_device > 0) result.device.Add(on_device);
  }
  if (result.replay.empty()) {
    return WithExit(absl::CancelledError("interrupted before the first measurement."),
                    kExitInterrupted);
  }
  result.replay.Sort();
  result.device.Sort();
  for (const PlanDispatch& d : program.plan().dispatches) {
    result.flops += static_cast<double>(d.flops);
    result.bytes += static_cast<double>(d.bytes_read + d.bytes_written);
  }
  return result;
}

void PrintTimes(const char* what, const Times& times) {
  if (times.empty()) return;
  std::printf("%-11s median %s, min %s, spread %.1f%% (10th to 90th percentile of %u)\n", what,
              HumanSeconds(times.median()).c_str(), HumanSeconds(times.min()).c_str(),
              100 * times.spread(), static_cast<unsigned>(times.count()));
}

void PrintText(const BenchResult& r, const exec::DeviceInfo& device, const Plan& plan) {
  std::printf("device      %s\n", Printable(device.name).c_str());
  std::printf("driver      %s, Vulkan %s\n", Printable(device.driver).c_str(),
              device.api_version.c_str());
  std::printf("version     %s\n", VersionText(kProgram).c_str());
  std::printf("commit      %s\n", CommitText().c_str());
  std::printf("model       %s: %s in %s\n", Printable(plan.name).c_str(),
              Counted(plan.dispatches.size(), "dispatch").c_str(),
              Counted(plan.stages.size(), "stage").c_str());
  PrintTimes("device", r.device);
  PrintTimes("replay", r.replay);
  std::printf("per stage   %s\n",
              HumanSeconds(r.seconds() / std::max<size_t>(1, plan.stages.size())).c_str());
  const double bandwidth = r.bytes / r.seconds();
  std::printf("throughput  %.2f GFLOP/s, %.2f GB/s moved\n", r.flops / r.seconds() / 1e9,
              bandwidth / 1e9);
  if (r.bandwidth) {
    std::printf("roofline    %.1f%% of %.2f GB/s, measured with total += x\n",
                100 * bandwidth / *r.bandwidth, *r.bandwidth / 1e9);
  }
}

void PrintJson(const BenchResult& r, const exec::DeviceInfo& device, const Plan& plan) {
  OrderedJson line = {{"event", "bench"},
                      {"device", device.name},
                      {"driver", device.driver},
                      {"version", VersionText(kProgram)},
                      {"commit", CommitText()},
                      {"model", plan.name},
                      {"dispatches", plan.dispatches.size()},
                      {"stages", plan.stages.size()},
                      {"iterations", r.replay.count()},
                      {"median_s", r.replay.median()},
                      {"min_s", r.replay.min()},
                      {"p10_s", r.replay.Quantile(0.1)},
                      {"p90_s", r.replay.Quantile(0.9)},
                      {"flops", r.flops},
                      {"bytes", r.bytes}};
  if (!r.device.empty()) {
    line["device_median_s"] = r.device.median();
    line["device_min_s"] = r.device.min();
  }
  if (r.bandwidth) line["roofline_bytes_per_s"] = *r.bandwidth;
  std::printf("%s\n", JsonText(line).c_str());
}

// A missing roofline is no reason to lose the measurement.
std::optional<double> Roofline(const BenchOptions& options, exec::Device& device) {
  if (options.no_roofline) return std::nullopt;
  absl::StatusOr<KernelPack> pack = LoadKernelPack(options.kernels);
  const absl::StatusOr<double> bandwidth =
      pack.ok() ? MeasureMemoryBandwidth(device, *pack) : absl::StatusOr<double>(pack.status());
  if (bandwidth.ok()) return *bandwidth;
  PrintNote(kProgram,
            absl::StrCat("the memory bandwidth was not measured: ", bandwidth.status().message()));
  return std::nullopt;
}

absl::StatusOr<int> BenchOnDevice(const BenchOptions& options, Model model, exec::Device& device) {
  PlanOptions compile;
  compile.profile = device.info().profile;
  compile.fuse = !options.no_fuse;
  compile.kernels = options.kernels;
  OA_ASSIGN_OR_RETURN(ReadyPlan ready, PreparePlan(std::move(model), compile));
  OA_ASSIGN_OR_RETURN(const BoundInputs inputs, BenchInputs(options, ready.plan));
  auto program = exec::Program::Create(device, std::move(ready.plan), ready.pack);
  if (!program.ok()) return WithExit(program.status(), kExitDevice);
  OA_ASSIGN_OR_RETURN(BenchResult result, Measure(options, **program, inputs));
  result.bandwidth = Roofline(options, device);
  const auto print = options.json ? PrintJson : PrintText;
  print(result, device.info(), (*program)->plan());
  return Interrupted() ? kExitInterrupted : kExitOk;
}

absl::StatusOr<int> BenchModel(const BenchOptions& options) {
  if (options.iterations == 0) return UsageError("--iterations must be at least 1.");
  OA_ASSIGN_OR_RETURN(Model model, LoadModel(options.model));
  OA_ASSIGN_OR_RETURN(const auto context, DeviceContext::Open(options.device));
  const absl::StatusOr<int> code = BenchOnDevice(options, std::move(model), context->device());
  OA_RETURN_IF_ERROR(code.status());
  OA_RETURN_IF_ERROR(context->Close());
  return code;
}

}  // namespace

Command AddBenchCommand(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Time replays of a model");
  auto o = std::make_shared<BenchOptions>();
  bench->add_option("model", o->model, "A graph (.oag) or a plan (.oax)")->required();
  AddRepeated(*bench, "--input", o->inputs,
              "NAME=VALUE; missing float inputs are random in\n[-1, 1), missing integers zero");
  bench->add_option("--warmup", o->warmup, "Replays before measuring (default 5)");
  bench->add_option("--iterations", o->iterations, "Replays to measure (default 50)");
  bench->add_option("--kernels", o->kernels, "Kernel pack");
  bench->add_flag("--no-fuse", o->no_fuse, "Compile a graph without fusing operators");
  bench->add_flag("--no-roofline", o->no_roofline, "Do not measure the memory bandwidth");
  bench->add_flag("--json", o->json, "One JSON object on stdout instead of text");
  AddDeviceFlags(*bench, o->device);
  bench->footer(
      std::string("`device` is the time between the first and the last dispatch, from which the\n"
                  "throughput follows; `replay` adds writing inputs and reading outputs.\n"
                  "Examples:\n"
                  "  oa-run bench model.oag --iterations 200\n"
                  "  oa-run bench model.oax --input tokens=@tokens.npy --json\n") +
      kTensorArgHelp + "\n" + kExitCodeHelp);
  return {bench, [o] { return BenchModel(*o); }};
}

}  // namespace oa::tools
