// The subcommands of oa-run, one file each. A command's options live in its action.
#ifndef OA_TOOLS_RUN_COMMAND_H_
#define OA_TOOLS_RUN_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "absl/status/statusor.h"

namespace oa::tools {

inline constexpr char kProgram[] = "oa-run";

struct Command {
  CLI::App* app = nullptr;
  std::function<absl::StatusOr<int>()> action;  // the value is the exit code
};

// Each adds its subcommand to `app`.
Command AddRunCommand(CLI::App& app);
Command AddCheckCommand(CLI::App& app);
Command AddBenchCommand(CLI::App& app);
Command AddDevicesCommand(CLI::App& app);
Command AddOpsCommand(CLI::App& app);
Command AddInspectCommand(CLI::App& app);
Command AddVerifyCommand(CLI::App& app);

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_COMMAND_H_
