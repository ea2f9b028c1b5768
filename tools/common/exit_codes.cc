#include "tools/common/exit_codes.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/types/optional.h"

namespace oa::tools {
namespace {

constexpr char kPayload[] = "oa/exit-code";

}  // namespace

const char kExitCodeHelp[] =
    "Exit codes: 0 ok, 1 results differ, 2 usage, 3 bad file, 4 device, 130 stopped.";

absl::Status WithExit(absl::Status status, ExitCode code) {
  if (!status.ok()) status.SetPayload(kPayload, absl::Cord(absl::StrCat(static_cast<int>(code))));
  return status;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (const absl::optional<absl::Cord> mark = status.GetPayload(kPayload)) {
    int code = 0;
    if (absl::SimpleAtoi(std::string(*mark), &code)) return static_cast<ExitCode>(code);
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kAlreadyExists:
      return kExitFile;
    default:
      return kExitDevice;
  }
}

}  // namespace oa::tools
