#include "tools/run/run_setup.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/text.h"
#include "tools/run/persistent.h"

namespace oa::tools {
namespace {

absl::StatusOr<std::vector<TensorArg>> ParseAll(const std::vector<std::string>& texts) {
  std::vector<TensorArg> args;
  for (const std::string& text : texts) {
    OA_ASSIGN_OR_RETURN(TensorArg arg, ParseTensorArg(text));
    args.push_back(std::move(arg));
  }
  return args;
}

absl::Status CheckOutputArgs(const Plan& plan, const std::vector<TensorArg>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    OA_RETURN_IF_ERROR(FindIo(plan.outputs, outputs[i].name, "output").status());
    for (size_t k = 0; k < i; ++k) {
      if (outputs[k].name == outputs[i].name) {
        return UsageError("the output '", outputs[i].name, "' is given twice.");
      }
    }
  }
  return absl::OkStatus();
}

// Reads, checks against the plan, and notes what else the file has.
absl::StatusOr<Safetensors> LoadChecked(const Plan& plan, const std::string& path,
                                        PersistentSet set, std::vector<std::string>& notes) {
  constexpr size_t kShown = 3;
  OA_ASSIGN_OR_RETURN(Safetensors file, ReadSafetensors(path));
  OA_ASSIGN_OR_RETURN(std::vector<std::string> extra, CheckTensors(plan, file, path, set));
  if (!extra.empty()) {
    const size_t count = extra.size();
    extra.resize(std::min(count, kShown));
    notes.push_back(absl::StrCat("'", path, "' has ", Counted(count, "tensor"),
                                 " that the model does not use (", absl::StrJoin(extra, ", "),
                                 count > kShown ? ", .." : "", ")."));
  }
  const auto identity = file.metadata.find("graph_identity");
  if (set == PersistentSet::kAll && identity != file.metadata.end() &&
      identity->second != absl::StrFormat("%016x", plan.graph_identity)) {
    notes.push_back(absl::StrCat("'", path, "' was saved by another graph (", identity->second,
                                 "); names and types fit this one."));
  }
  return file;
}

absl::Status PrepareStream(const RunOptions& options, const RunArgs& args, const Plan& plan,
                           RunSetup& setup) {
  if (args.streams.empty()) return absl::OkStatus();
  OA_ASSIGN_OR_RETURN(setup.stream, BatchStream::Create(plan, args.streams));
  const BatchStream& stream = *setup.stream;
  if (stream.dropped_rows() > 0) {
    setup.notes.push_back(
        absl::StrCat("the last ", Counted(stream.dropped_rows(), "row"), " of ", stream.rows(),
                     " do not fill a batch of ", stream.batch_rows(), " and are left out",
                     options.shuffle ? " of each epoch (which ones, the shuffle decides)." : "."));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunArgs> ParseRunArgs(const RunOptions& options) {
  RunArgs args;
  OA_ASSIGN_OR_RETURN(args.inputs, ParseAll(options.inputs));
  OA_ASSIGN_OR_RETURN(args.streams, ParseAll(options.streams));
  OA_ASSIGN_OR_RETURN(args.outputs, ParseAll(options.outputs));
  OA_ASSIGN_OR_RETURN(args.expects, ParseAll(options.expects));
  for (const TensorArg& output : args.outputs) {
    if (output.kind != TensorArg::Kind::kFile || output.file.rows) {
      return UsageError("--output takes NAME=@FILE.npy; '", output.name,
                        "' names no plain file to write.");
    }
  }
  for (const std::string& text : options.sets) {
    OA_ASSIGN_OR_RETURN(SetArg set, ParseSetArg(text));
    args.sets.push_back(std::move(set));
  }
  OA_ASSIGN_OR_RETURN(args.tolerance, ToleranceOverrides::Parse(options.rtol, options.atol));
  return args;
}

std::vector<std::string> FilesToWrite(const RunOptions& options, const RunArgs& args) {
  std::vector<std::string> files;
  for (const TensorArg& output : args.outputs) files.push_back(output.file.path);
  for (const std::string& path : {options.save_params, options.save_state, options.profile}) {
    if (!path.empty()) files.push_back(path);
  }
  return files;
}

absl::StatusOr<RunSetup> PrepareRun(const RunOptions& options, const RunArgs& args,
                                    const Plan& plan) {
  RunSetup setup;
  OA_RETURN_IF_ERROR(CheckOutputArgs(plan, args.outputs));
  OA_RETURN_IF_ERROR(CheckSetArgs(plan, args.sets));
  OA_RETURN_IF_ERROR(PrepareStream(options, args, plan, setup));
  BindOptions bind;
  if (setup.stream) bind.provided_elsewhere = setup.stream->names();
  OA_ASSIGN_OR_RETURN(setup.inputs, BindInputs(plan, args.inputs, bind));
  for (const TensorArg& expect : args.expects) {
    OA_ASSIGN_OR_RETURN(const PlanIo* io, FindIo(plan.outputs, expect.name, "output"));
    OA_ASSIGN_OR_RETURN(setup.expected[expect.name], LoadTensor(expect, io->dtype, io->shape));
  }
  if (!options.state.empty()) {
    OA_ASSIGN_OR_RETURN(setup.state,
                        LoadChecked(plan, options.state, PersistentSet::kAll, setup.notes));
  }
  if (!options.params.empty()) {
    OA_ASSIGN_OR_RETURN(setup.params,
                        LoadChecked(plan, options.params, PersistentSet::kParameters, setup.notes));
  }
  return setup;
}

}  // namespace oa::tools
