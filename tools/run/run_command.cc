// `oa-run run`: replays a model, streaming data through it when asked.
#include <memory>

#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/npy.h"
#include "tools/common/run_main.h"
#include "tools/common/table.h"
#include "tools/common/text.h"
#include "tools/common/writable.h"
#include "tools/run/command.h"
#include "tools/run/interrupt.h"
#include "tools/run/persistent.h"
#include "tools/run/reporter.h"
#include "tools/run/runner.h"
#include "tools/run/trace.h"

namespace oa::tools {
namespace {

std::string IoTable(const Plan& plan) {
  Table table({{"", Table::Align::kLeft}, {"name", Table::Align::kLeft, true}, {"type"}});
  for (const PlanIo& io : plan.inputs) {
    table.Add({"input", io.name, TypeText(io.dtype, io.shape)});
  }
  for (const PlanIo& io : plan.outputs) {
    table.Add({"output", io.name, TypeText(io.dtype, io.shape)});
  }
  return table.Text();
}

// The plan as it is in the file; a graph is compiled for --device-profile or the portable one.
absl::StatusOr<int> DryRun(const RunOptions& options, Model model) {
  Plan plan;
  if (model.plan) {
    plan = *std::move(model.plan);
  } else {
    PlanOptions compile;
    compile.fuse = !options.no_fuse;
    compile.kernels = options.kernels;
    if (!options.device_profile.empty()) {
      OA_ASSIGN_OR_RETURN(compile.profile, LoadProfile(options.device_profile));
    }
    OA_ASSIGN_OR_RETURN(ReadyPlan ready, PreparePlan(std::move(model), compile));
    plan = std::move(ready.plan);
  }
  if (options.json) {
    std::printf("%s\n", JsonText(PlanJson(plan)).c_str());
  } else {
    std::printf("%s%scompiled for the profile '%s'; nothing was run.\n",
                exec::MemoryReport(plan).c_str(), IoTable(plan).c_str(),
                Printable(plan.profile.name).c_str());
  }
  return kExitOk;
}

// One run on an open device. Its members are destroyed before the device is closed.
class Run {
 public:
  Run(const RunOptions& options, const RunArgs& args, Reporter& reporter)
      : options_(options), args_(args), reporter_(reporter) {}

  absl::StatusOr<int> Execute(Model model, exec::Device& device) {
    OA_RETURN_IF_ERROR(Load(std::move(model), device));
    OA_RETURN_IF_ERROR(RestoreState());
    Runner runner(options_, setup_, plan(), *session_, reporter_, timeline_);
    CatchInterrupts();
    const double start_us = timeline_.Now();
    OA_RETURN_IF_ERROR(runner.Run());
    const double seconds = (timeline_.Now() - start_us) / 1e6;
    // State first: it is what a long run cannot afford to lose.
    OA_RETURN_IF_ERROR(SaveState());
    OA_RETURN_IF_ERROR(WriteOutputs(runner.outputs()));
    OA_RETURN_IF_ERROR(WriteProfile(runner));
    OA_ASSIGN_OR_RETURN(const bool as_expected, CheckExpected(runner.outputs()));
    reporter_.Final(runner.steps(), seconds, Interrupted());
    if (Interrupted()) return kExitInterrupted;
    return as_expected ? kExitOk : kExitMismatch;
  }

 private:
  const Plan& plan() const { return program_->plan(); }

  absl::Status Load(Model model, exec::Device& device) {
    PlanOptions compile;
    compile.profile = device.info().profile;
    compile.fuse = !options_.no_fuse;
    compile.kernels = options_.kernels;
    Timeline::Scope whole(timeline_, "load");
    OA_ASSIGN_OR_RETURN(ReadyPlan ready, PreparePlan(std::move(model), compile));
    OA_ASSIGN_OR_RETURN(setup_, PrepareRun(options_, args_, ready.plan));
    for (const std::string& note : setup_.notes) reporter_.Note(note);
    {
      Timeline::Scope scope(timeline_, "create pipelines");
      auto program = exec::Program::Create(device, std::move(ready.plan), ready.pack);
      if (!program.ok()) return WithExit(program.status(), kExitDevice);
      program_ = *std::move(program);
    }
    Timeline::Scope scope(timeline_, "create session");
    exec::SessionOptions session_options;
    session_options.frames_in_flight = options_.frames;
    session_options.timestamps = !options_.profile.empty();
    auto session = exec::Session::Create(*program_, session_options);
    if (!session.ok()) return WithExit(session.status(), kExitDevice);
    session_ = *std::move(session);
    reporter_.Start(device.info(), *program_);
    return absl::OkStatus();
  }

  absl::Status RestoreState() {
    Timeline::Scope scope(timeline_, "restore state");
    if (setup_.state) {
      OA_RETURN_IF_ERROR(WriteTensors(*session_, plan(), *setup_.state, PersistentSet::kAll));
    }
    if (setup_.params) {
      OA_RETURN_IF_ERROR(
          WriteTensors(*session_, plan(), *setup_.params, PersistentSet::kParameters));
    }
    // They may map the file that is about to be replaced.
    setup_.state.reset();
    setup_.params.reset();
    return ApplySetArgs(*session_, plan(), args_.sets);
  }

  absl::Status SaveState() {
    Timeline::Scope scope(timeline_, "save state");
    if (!options_.save_params.empty()) {
      OA_ASSIGN_OR_RETURN(const size_t count, SaveTensors(*session_, plan(), options_.save_params,
                                                          PersistentSet::kParameters));
      reporter_.Saved("parameters", options_.save_params, count);
    }
    if (!options_.save_state.empty()) {
      OA_ASSIGN_OR_RETURN(const size_t count,
                          SaveTensors(*session_, plan(), options_.save_state, PersistentSet::kAll));
      reporter_.Saved("parameters and states", options_.save_state, count);
    }
    return absl::OkStatus();
  }

  // Given outputs are written; without any, all are summarised. One-element outputs of a streamed
  // run were reported with the epochs.
  absl::Status WriteOutputs(const exec::TensorMap& outputs) {
    for (const TensorArg& arg : args_.outputs) {
      OA_ASSIGN_OR_RETURN(const PlanIo* io, FindIo(plan().outputs, arg.name, "output"));
      const auto value = outputs.find(arg.name);
      if (value == outputs.end()) continue;  // interrupted before the first step
      OA_RETURN_IF_ERROR(WriteNpy(arg.file.path, io->dtype, io->shape, value->second));
      reporter_.Output(*io, value->second, arg.file.path);
      if (io->dtype == DType::BF16) {
        reporter_.Note(
            absl::StrCat("'", arg.file.path, "' holds bf16 as '<u2'; NumPy has no such type."));
      }
    }
    if (!args_.outputs.empty()) return absl::OkStatus();
    for (const PlanIo& io : plan().outputs) {
      const auto value = outputs.find(io.name);
      if (value == outputs.end()) continue;
      if (setup_.stream && value->second.size() == SizeOf(io.dtype)) continue;
      reporter_.Output(io, value->second, "");
    }
    return absl::OkStatus();
  }

  absl::Status WriteProfile(const Runner& runner) {
    if (options_.profile.empty()) return absl::OkStatus();
    const std::vector<exec::DispatchTime> times = session_->profile();
    OA_RETURN_IF_ERROR(
        WriteTrace(options_.profile, plan(), times, timeline_, runner.last_submit_us()));
    if (times.empty()) {
      reporter_.Note(
          "the device's compute queue has no timestamps; the trace shows the host only.");
    }
    std::string table = KernelTable(plan(), times);
    if (!table.empty()) table.pop_back();
    reporter_.Text(table);
    reporter_.Text(
        absl::StrCat("wrote ", options_.profile, "  open it at https://ui.perfetto.dev"));
    reporter_.Event("profile", {{"path", options_.profile}});
    return absl::OkStatus();
  }

  absl::StatusOr<bool> CheckExpected(const exec::TensorMap& outputs) {
    bool all = true;
    for (const auto& [name, expected] : setup_.expected) {
      OA_ASSIGN_OR_RETURN(const PlanIo* io, FindIo(plan().outputs, name, "output"));
      const auto value = outputs.find(name);
      if (value == outputs.end()) continue;
      const Tolerance tolerance = args_.tolerance.Apply(io->dtype, Tolerance());
      OA_ASSIGN_OR_RETURN(const Comparison result,
                          Compare(io->dtype, value->second, expected.bytes(), tolerance));
      reporter_.Event("expect", {{"name", name},
                                 {"ok", result.ok()},
                                 {"mismatches", result.mismatches},
                                 {"max_abs", result.max_abs},
                                 {"max_rel", result.max_rel}});
      if (result.ok()) {
        reporter_.Text(absl::StrCat("expected ", Printable(name), ": ok, largest error ",
                                    HumanNumber(result.max_abs)));
        continue;
      }
      all = false;
      std::fprintf(stderr, "oa-run: '%s' differs in %s of %s elements; %s.\n",
                   Printable(name).c_str(), absl::StrCat(result.mismatches).c_str(),
                   absl::StrCat(result.count).c_str(),
                   MismatchText(io->dtype, value->second, expected.bytes(), result).c_str());
    }
    return all;
  }

  const RunOptions& options_;
  const RunArgs& args_;
  Reporter& reporter_;
  Timeline timeline_;
  RunSetup setup_;
  std::unique_ptr<exec::Program> program_;
  std::unique_ptr<exec::Session> session_;
};

absl::StatusOr<int> RunModel(const RunOptions& options) {
  OA_RETURN_IF_ERROR(CheckRunOptions(options));
  OA_ASSIGN_OR_RETURN(const RunArgs args, ParseRunArgs(options));
  OA_ASSIGN_OR_RETURN(Model model, LoadModel(options.model));
  if (options.dry_run) return DryRun(options, std::move(model));
  OA_RETURN_IF_ERROR(CheckWritable(FilesToWrite(options, args)));
  Reporter reporter(options.json, options.quiet);
  OA_ASSIGN_OR_RETURN(const auto context, DeviceContext::Open(options.device));
  const absl::StatusOr<int> code =
      Run(options, args, reporter).Execute(std::move(model), context->device());
  OA_RETURN_IF_ERROR(code.status());
  OA_RETURN_IF_ERROR(context->Close());
  return code;
}

}  // namespace

Command AddRunCommand(CLI::App& app) {
  CLI::App* run = app.add_subcommand("run", "Replay a model (the default command)");
  auto options = std::make_shared<RunOptions>();
  AddRunOptions(*run, *options);
  return {run, [options] { return RunModel(*options); }};
}

}  // namespace oa::tools
