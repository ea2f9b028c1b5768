// The one main function all tools share: parse, run, map the status to an exit code.
#ifndef OA_TOOLS_COMMON_RUN_MAIN_H_
#define OA_TOOLS_COMMON_RUN_MAIN_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace oa::tools {

// --version, and help that fits 80 columns. Call it before subcommands are added: they inherit it.
void SetUpApp(CLI::App& app);

// An option that takes one value each time it is given. CLI11's lists would swallow the
// positional argument that follows.
CLI::Option* AddRepeated(CLI::App& app, const std::string& flags, std::vector<std::string>& values,
                         const std::string& help);

// Parses `args` (without the program's name) and calls `action`, whose value is the exit code.
// Errors are printed as "program: sentence" on stderr. An unknown option names the nearest ones.
int RunMain(CLI::App& app, std::vector<std::string> args,
            const std::function<absl::StatusOr<int>()>& action);

// Prints the error as "program: sentence" on stderr and returns its exit code.
int Fail(absl::string_view program, const absl::Status& status);

// "program: note: sentence" on stderr.
void PrintNote(absl::string_view program, absl::string_view sentence);

// "oa-run 0.1.0 (formats 1.0)".
std::string VersionText(absl::string_view program);

// What was built, as `git describe` said when the build was configured: "v0.1-3-g1a2b3c4"; "-dirty"
// when files had changed. The version where there was no git.
std::string CommitText();

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_RUN_MAIN_H_
