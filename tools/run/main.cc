// oa-run: replays graphs and plans, and shows what is in every file OA reads.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "schema/closest_names.h"
#include "tools/common/exit_codes.h"
#include "tools/common/run_main.h"
#include "tools/run/command.h"

namespace {

using oa::tools::Command;

constexpr char kExamples[] =
    "Examples:\n"
    "  oa-run model.oag --input x=@x.npy --output y=@y.npy\n"
    "  oa-run train.oax --stream images=@train.npy --epochs 10 --save-params w.safetensors\n"
    "  oa-run check model.oag            replay the test vectors inside the file\n"
    "  oa-run inspect model.oax --format html -o plan.html\n"
    "`oa-run FILE ...` is short for `oa-run run FILE ...`.";

// `run` is the default: it is put in front unless the first argument already is a command.
std::vector<std::string> WithCommand(int argc, char** argv, const std::vector<Command>& commands) {
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) return {"--help"};
  for (const char* global : {"-h", "--help", "--version"}) {
    if (args[0] == global) return args;
  }
  for (const Command& command : commands) {
    if (args[0] == command.app->get_name()) return args;
  }
  args.insert(args.begin(), "run");
  return args;
}

// A misspelt command would otherwise be reported as a missing file.
absl::Status CheckMisspelling(const std::string& word, const std::vector<Command>& commands) {
  std::error_code error;
  if (word.find_first_of("./") != std::string::npos || std::filesystem::exists(word, error)) {
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return absl::OkStatus();
  for (const std::string& name : names) {
    if (oa::EditDistance(word, name) <= 2) {
      return oa::tools::UsageError("'", word, "' is neither a command nor a file",
                                   oa::ClosestNames(word, names), ".");
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Replays recorded ML graphs on Vulkan devices.", oa::tools::kProgram);
  oa::tools::SetUpApp(app);
  app.footer(std::string(kExamples) + "\n" + oa::tools::kExitCodeHelp);
  app.require_subcommand(1);
  const std::vector<Command> commands = {
      oa::tools::AddRunCommand(app),   oa::tools::AddCheckCommand(app),
      oa::tools::AddBenchCommand(app), oa::tools::AddDevicesCommand(app),
      oa::tools::AddOpsCommand(app),   oa::tools::AddInspectCommand(app),
      oa::tools::AddVerifyCommand(app)};
  if (argc > 1 && argv[1][0] != '-') {
    const absl::Status status = CheckMisspelling(argv[1], commands);
    if (!status.ok()) return oa::tools::Fail(oa::tools::kProgram, status);
  }
  return oa::tools::RunMain(app, WithCommand(argc, argv, commands), [&]() -> absl::StatusOr<int> {
    for (const Command& command : commands) {
      if (command.app->parsed()) return command.action();
    }
    return oa::tools::kExitUsage;
  });
}
