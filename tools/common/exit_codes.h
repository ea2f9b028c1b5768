// Exit codes of every tool, and how a status becomes one. Stateless.
#ifndef OA_TOOLS_COMMON_EXIT_CODES_H_
#define OA_TOOLS_COMMON_EXIT_CODES_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace oa::tools {

enum ExitCode : int {
  kExitOk = 0,
  kExitMismatch = 1,      // results differ from what was expected
  kExitUsage = 2,         // the command line is wrong
  kExitFile = 3,          // a file is missing, damaged or of the wrong kind
  kExitDevice = 4,        // the device, its driver or its memory; also every bug of ours
  kExitInterrupted = 130  // stopped by SIGINT after saving what was asked for
};

// The same status, made to end the program with `code`. The outermost mark wins.
absl::Status WithExit(absl::Status status, ExitCode code);

// A mistake on the command line, as one sentence.
template <class... Parts>
absl::Status UsageError(const Parts&... parts) {
  return WithExit(absl::InvalidArgumentError(absl::StrCat(parts...)), kExitUsage);
}

// A file that cannot be used although it may be intact.
template <class... Parts>
absl::Status BadFile(const Parts&... parts) {
  return WithExit(absl::InvalidArgumentError(absl::StrCat(parts...)), kExitFile);
}

// The mark of WithExit; without one: InvalidArgument, OutOfRange -> usage; NotFound, DataLoss,
// PermissionDenied, AlreadyExists -> file; everything else -> device.
ExitCode ExitCodeOf(const absl::Status& status);

// The table that `--help` shows.
extern const char kExitCodeHelp[];

}  // namespace oa::tools

#endif  // OA_TOOLS_COMMON_EXIT_CODES_H_
