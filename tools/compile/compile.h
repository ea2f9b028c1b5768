// The command line and the work of oa-compile.
#ifndef OA_TOOLS_COMPILE_COMPILE_H_
#define OA_TOOLS_COMPILE_COMPILE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace oa::tools {

struct CompileFlags {
  std::string model, output;
  std::string device;  // a profile file, "" for --target
  std::string target = "portable";
  std::string kernels;
  std::string report;
  std::vector<std::string> dump_after;
  std::vector<std::string> routes;
  bool no_fuse = false;
  bool bundle = false;
  bool quiet = false;
};

void AddCompileFlags(CLI::App& app, CompileFlags& flags);

// Compiles, writes the plan and what else was asked for; the value is the exit code.
absl::StatusOr<int> CompileFile(const CompileFlags& flags);

}  // namespace oa::tools

#endif  // OA_TOOLS_COMPILE_COMPILE_H_
