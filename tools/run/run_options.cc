#include "tools/run/run_options.h"

#include "tools/common/exit_codes.h"
#include "tools/common/run_main.h"
#include "tools/common/tensor_arg.h"

namespace oa::tools {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  oa-run model.oag --input x=@x.npy --output y=@y.npy\n"
    "  oa-run model.oax --input x=32x64xf32=0 --params weights.safetensors\n"
    "  oa-run train.oax --stream images=@images.npy[0:1437] \\\n"
    "         --stream labels=@labels.npy[0:1437] --epochs 30 --shuffle 7 \\\n"
    "         --save-params weights.safetensors\n"
    "  oa-run train.oax --state s.safetensors --save-state s.safetensors \\\n"
    "         --set adamw.hyper[1]=1e-4 --steps 100    resume with another rate\n";

void AddDataOptions(CLI::App& app, RunOptions& o) {
  const char* group = "Data";
  AddRepeated(app, "--input", o.inputs, "NAME=VALUE, one for each input (see below)")->group(group);
  AddRepeated(app, "--stream", o.streams,
              "NAME=@FILE[a:b]: cut the rows of a file into\nmini-batches; incomplete ones are "
              "dropped")
      ->group(group);
  AddRepeated(app, "--output", o.outputs,
              "NAME=@FILE.npy: write the last step's value;\nwithout it, values are summarised")
      ->group(group);
  AddRepeated(app, "--expect", o.expects,
              "NAME=VALUE: compare the last step's value,\nexit code 1 when it differs")
      ->group(group);
  app.add_option("--rtol", o.rtol,
                 "Relative tolerance of --expect: 1e-4, or by\ntype: f32=1e-4,bf16=1e-2")
      ->group(group);
  app.add_option("--atol", o.atol, "Absolute tolerance of --expect")->group(group);
}

void AddStateOptions(CLI::App& app, RunOptions& o) {
  const char* group = "Parameters and state";
  app.add_option("--params", o.params, "Load the parameters from a .safetensors file")
      ->group(group);
  app.add_option("--save-params", o.save_params, "Save the parameters after the run")->group(group);
  app.add_option("--state", o.state, "Load parameters and states, to resume exactly")->group(group);
  app.add_option("--save-state", o.save_state, "Save parameters and states after the run")
      ->group(group);
  AddRepeated(app, "--set", o.sets,
              "NAME[INDEX]=NUMBER: change one element of a\nparameter or state before the run; "
              "1e-4 or 0.0\nsets the F32 bits of a U32 element")
      ->group(group);
}

void AddLengthOptions(CLI::App& app, RunOptions& o) {
  const char* group = "Length";
  app.add_option("--steps", o.steps, "Replays; with --stream a limit over all epochs")
      ->group(group);
  app.add_option("--epochs", o.epochs, "Passes over the streamed rows (default 1)")->group(group);
  app.add_option("--shuffle", o.shuffle,
                 "Seed: a new order of the rows in each epoch, the\nsame "
                 "on every machine")
      ->group(group);
  app.add_option("--frames", o.frames, "Replays in flight (default 2)")
      ->check(CLI::Range(1, 16))
      ->group(group);
}

void AddReportOptions(CLI::App& app, RunOptions& o) {
  const char* group = "Reporting";
  app.add_option("--profile", o.profile,
                 "Write a trace for ui.perfetto.dev and print a\ntable of kernels")
      ->group(group);
  app.add_option("--log-every", o.log_every, "Print one-element outputs every N steps")
      ->group(group);
  app.add_flag("--json", o.json, "JSON Lines on stdout instead of text")->group(group);
  app.add_flag("--quiet", o.quiet, "Print errors only")->group(group);
  app.add_flag("--dry-run", o.dry_run, "Print the memory that is needed; touch no device")
      ->group(group);
}

}  // namespace

void AddRunOptions(CLI::App& app, RunOptions& o) {
  app.add_option("model", o.model, "A graph (.oag) or a plan (.oax)")->required();
  AddDataOptions(app, o);
  AddStateOptions(app, o);
  AddLengthOptions(app, o);
  AddReportOptions(app, o);
  AddDeviceFlags(app, o.device);
  app.add_option("--kernels", o.kernels,
                 "Kernel pack (default: $OA_KERNELS, then\nkernels.oak beside the program)");
  app.add_flag("--no-fuse", o.no_fuse, "Compile a graph without fusing operators");
  app.add_option("--device-profile", o.device_profile,
                 "With --dry-run of a graph: the profile to compile\nfor");
  app.footer(std::string(kExamples) + kTensorArgHelp + "\n" + kExitCodeHelp);
}

absl::Status CheckRunOptions(const RunOptions& o) {
  if (o.epochs && o.streams.empty()) {
    return UsageError(
        "--epochs counts passes over streamed rows; add --stream NAME=@FILE, or use "
        "--steps.");
  }
  if (o.shuffle && o.streams.empty()) {
    return UsageError("--shuffle reorders streamed rows; add --stream NAME=@FILE.");
  }
  if ((o.steps && *o.steps == 0) || (o.epochs && *o.epochs == 0)) {
    return UsageError("a run has at least one step and one epoch.");
  }
  if (o.expects.empty() && (!o.rtol.empty() || !o.atol.empty())) {
    return UsageError("--rtol and --atol belong to --expect NAME=VALUE.");
  }
  if (!o.device_profile.empty() && !o.dry_run) {
    return UsageError("--device-profile belongs to --dry-run; a run compiles for its device.");
  }
  return absl::OkStatus();
}

}  // namespace oa::tools
