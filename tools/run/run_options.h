// The command line of `oa-run run`.
#ifndef OA_TOOLS_RUN_RUN_OPTIONS_H_
#define OA_TOOLS_RUN_RUN_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/run/device_context.h"

namespace oa::tools {

// As written; ParseRun (run_setup.h) gives the texts their meaning.
struct RunOptions {
  std::string model;
  std::vector<std::string> inputs;   // NAME=VALUE
  std::vector<std::string> streams;  // NAME=@FILE[a:b]
  std::vector<std::string> outputs;  // NAME=@FILE
  std::vector<std::string> expects;  // NAME=VALUE
  std::vector<std::string> sets;     // NAME[i]=VALUE
  std::optional<uint64_t> steps;
  std::optional<uint64_t> epochs;
  std::optional<uint64_t> shuffle;
  std::optional<uint64_t> log_every;
  uint32_t frames = 2;
  std::string params, save_params, state, save_state;
  std::string profile;
  std::string rtol, atol;
  std::string kernels;
  std::string device_profile;
  DeviceFlags device;
  bool no_fuse = false;
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
};

void AddRunOptions(CLI::App& app, RunOptions& options);

// Usage errors that concern several options at once.
absl::Status CheckRunOptions(const RunOptions& options);

}  // namespace oa::tools

#endif  // OA_TOOLS_RUN_RUN_OPTIONS_H_
