// ReportTable: the passes of a compilation as a table for the terminal.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/compile.h"

namespace oa::ir {
namespace {

// "1.5 MiB"; "-" for a figure that does not exist yet.
std::string Bytes(uint64_t bytes) {
  if (bytes == 0) return "-";
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat(unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string Count(uint64_t count) { return count == 0 ? "-" : absl::StrCat(count); }

}  // namespace

std::string ReportTable(const std::vector<PassReport>& passes) {
  std::string text = absl::StrFormat("%-10s %8s %10s %8s %12s %12s %10s\n", "pass", "nodes",
                                     "dispatches", "stages", "peak", "moved", "time");
  for (const PassReport& pass : passes) {
    absl::StrAppendFormat(&text, "%-10s %8s %10s %8s %12s %12s %7.1f ms\n", pass.pass,
                          Count(pass.nodes), Count(pass.dispatches), Count(pass.stages),
                          Bytes(pass.peak_bytes), Bytes(pass.bytes_moved), pass.time_ms);
  }
  return text;
}

}  // namespace oa::ir
