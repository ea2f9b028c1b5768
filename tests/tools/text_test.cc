// Tables, progress lines, numbers for people, exit codes and file kinds.
#include "tools/common/text.h"

#include <doctest/doctest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/exit_codes.h"
#include "tools/common/file_kind.h"
#include "tools/common/kernel_lookup.h"
#include "tools/common/progress.h"
#include "tools/common/table.h"
#include "tools/common/writable.h"

namespace oa::tools {
namespace {

TEST_CASE("table: no line is wider than 80 columns") {
  Table table({{"name", Table::Align::kLeft, true},
               {"kernel", Table::Align::kLeft, true},
               {"number", Table::Align::kRight}});
  table.Add({std::string(200, 'a') + "_end", std::string(90, 'k'), "1"});
  table.Add({"short", "softmax_f32", "12345"});
  for (absl::string_view line : absl::StrSplit(table.Text(), '\n')) {
    CHECK_LE(DisplayWidth(line), 80);
  }
  CHECK(absl::StrContains(table.Text(), "12345"));
  CHECK(absl::StrContains(table.Text(), "_end"));
  for (absl::string_view line : absl::StrSplit(table.Text(20), '\n')) CHECK_LE(line.size(), 20);
}

TEST_CASE("table: columns are aligned") {
  Table table({{"a"}, {"n", Table::Align::kRight}});
  table.Add({"x", "1"});
  table.Add({"longer", "100"});
  CHECK_EQ(table.Text(), "  a         n\n  x         1\n  longer  100\n");
}

TEST_CASE("table: wrapping columns keep every word") {
  Table table({{"op"}, {"operands", Table::Align::kLeft, true, true}});
  table.Add({"adam", "alpha, beta, gamma, delta"});
  CHECK_EQ(table.Text(20), "  op    operands\n  adam  alpha, beta,\n        gamma, delta\n");
}

TEST_CASE("table: names cannot steer the terminal") {
  Table table({{"name"}});
  table.Add({"evil\x1b[2J\n"});
  CHECK_EQ(table.Text(), "  name\n  evil\\x1b[2J\\x0a\n");
}

TEST_CASE("text: sizes, times and shortening") {
  CHECK_EQ(HumanBytes(640), "640 B");
  CHECK_EQ(HumanBytes(1536), "1.5 KiB");
  CHECK_EQ(HumanBytes(UINT64_MAX), "16.0 EiB");
  CHECK_EQ(HumanSeconds(0.00085), "850 us");
  CHECK_EQ(HumanSeconds(4.56), "4.56 s");
  CHECK_EQ(HumanSeconds(200), "3 min 20 s");
  CHECK_EQ(HumanSeconds(1e300 * 1e10), "?");
  CHECK_EQ(HumanNumber(123456), "123456");
  CHECK_EQ(Shorten("abcdefghij", 6), "ab..ij");
  CHECK_EQ(Shorten("\xC3\xA4\xC3\xB6\xC3\xBC", 3), "\xC3\xA4\xC3\xB6\xC3\xBC");
  CHECK_EQ(Counted(1, "stage"), "1 stage");
  CHECK_EQ(Counted(2, "dispatch"), "2 dispatches");
}

TEST_CASE("progress: one line, never too wide") {
  const std::string line =
      ProgressLine("step", 12, 300, std::string(200, 'x'), 1.5, 32, "rows", 79);
  CHECK_EQ(DisplayWidth(line), 79);
  CHECK(absl::StartsWith(line, "step 12/300 ["));
  CHECK(absl::StrContains(line, "256 rows/s"));
  CHECK(absl::StrContains(line, "left"));
  CHECK_FALSE(absl::StrContains(ProgressLine("step", 0, 0, "", 0, 0, "rows", 79), "nan"));
}

TEST_CASE("exit codes: by mark, else by kind of status") {
  CHECK_EQ(ExitCodeOf(absl::OkStatus()), 0);
  CHECK_EQ(ExitCodeOf(UsageError("no ", 1)), 2);
  CHECK_EQ(ExitCodeOf(BadFile("no")), 3);
  CHECK_EQ(ExitCodeOf(absl::DataLossError("")), 3);
  CHECK_EQ(ExitCodeOf(absl::ResourceExhaustedError("")), 4);
  CHECK_EQ(ExitCodeOf(WithExit(absl::InvalidArgumentError(""), kExitDevice)), 4);
  CHECK(WithExit(absl::OkStatus(), kExitDevice).ok());
}

TEST_CASE("files: kinds are recognised by content") {
  const auto kind = [](const std::string& bytes, const std::string& path) {
    return DetectFile(testing::Bytes(bytes), path);
  };
  CHECK_EQ(*kind("OAG1", "x"), AnyFile::kGraph);
  CHECK_EQ(*kind("OAX1....", "x"), AnyFile::kPlan);
  CHECK_EQ(*kind("\x93NUMPY", "x"), AnyFile::kNpy);
  CHECK_EQ(*kind("", "x.safetensors"), AnyFile::kSafetensors);
  CHECK_EQ(*kind(std::string("\x02\0\0\0\0\0\0\0{}", 10), "x"), AnyFile::kSafetensors);
  CHECK_EQ(ExitCodeOf(kind("hello", "x.txt").status()), kExitFile);
}

TEST_CASE("writable: folders are tried before a long run") {
  const testing::TempFolder folder;
  CHECK(CheckWritable({folder.File("a"), folder.File("b")}).ok());
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_EQ(ExitCodeOf(CheckWritable({folder.File("missing/a")})), kExitUsage);
  CHECK_EQ(ExitCodeOf(CheckWritable({folder.path()})), kExitUsage);
  CHECK_EQ(ExitCodeOf(CheckWritable({folder.File("a"), folder.File("./a")})), kExitUsage);
}

TEST_CASE("kernels: a pack that was asked for is never replaced") {
  const auto pack = FindKernelPack("/nonexistent/kernels.oak");
  REQUIRE_FALSE(pack.ok());
  CHECK_EQ(ExitCodeOf(pack.status()), kExitFile);
  CHECK(absl::StrContains(pack.status().message(), "--kernels"));
  CHECK(absl::StrContains(pack.status().message(), "cmake --build"));
}

}  // namespace
}  // namespace oa::tools
