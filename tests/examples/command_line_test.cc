// run.sh and byte_lm as users meet them: help, and what a mistake is answered with.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "schema/dtype.h"
#include "tests/tools/temp_folder.h"
#include "tools/common/npy.h"

namespace oa::examples {
namespace {

using testing::ReadText;
using testing::TempFolder;
using testing::WriteText;

struct Ran {
  int code = -1;
  std::string out, err;
};

Ran Run(const TempFolder& folder, const std::string& command) {
  const int status = std::system(
      absl::StrCat("cd ", folder.path(), " && ", command, " >.out 2>.err </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadText(folder.File(".out")),
          ReadText(folder.File(".err"))};
}

Ran RunScript(const std::string& arguments) {
  const TempFolder folder;
  return Run(folder, absl::StrCat("BIN=", OA_BIN_DIR, " OUT=", folder.path(), " ", OA_SOURCE_DIR,
                                  "/frontend/examples/run.sh ", arguments));
}

Ran ByteLm(const TempFolder& folder, const std::string& arguments) {
  return Run(folder, absl::StrCat(OA_BYTE_LM_PATH, " ", arguments));
}

TEST_CASE("run.sh: help lists the options and the examples") {
  const Ran help = RunScript("--help");
  CHECK_EQ(help.code, 0);
  for (const char* word :
       {"EXAMPLE", "--short", "--device", "BIN=", "OUT=", "digits_cnn", "transformer"}) {
    CHECK_MESSAGE(absl::StrContains(help.out, word), word);
  }
  const Ran nothing = RunScript("");
  CHECK_EQ(nothing.code, 2);
  CHECK_EQ(nothing.err, help.out);
}

TEST_CASE("run.sh: mistakes are answered with one sentence and exit code 2") {
  const std::pair<const char*, const char*> cases[] = {
      {"nope", "run.sh: there is no example 'nope'; there are "},
      {"digits --fast", "run.sh: unknown option '--fast'; "},
      {"digits --device", "run.sh: --device wants an index or a name"},
      {"digits transformer", "run.sh: one example at a time: 'digits' or 'transformer'"}};
  for (const auto& [arguments, sentence] : cases) {
    const Ran ran = RunScript(arguments);
    CHECK_EQ(ran.code, 2);
    CHECK_EQ(ran.out, "");
    CHECK_MESSAGE(absl::StartsWith(ran.err, sentence), ran.err);
  }
  const TempFolder empty;
  const Ran unbuilt = Run(empty, absl::StrCat("BIN=", empty.path(), " ", OA_SOURCE_DIR,
                                              "/frontend/examples/run.sh digits"));
  CHECK_EQ(unbuilt.code, 2);
  CHECK_MESSAGE(absl::StrContains(unbuilt.err, "/record_digits is not built; cmake "), unbuilt.err);
}

TEST_CASE("byte_lm: help of every command ends in an example") {
  const TempFolder folder;
  CHECK(absl::StrContains(ByteLm(folder, "").out, "generate"));
  for (const char* command : {"windows", "generate"}) {
    const Ran help = ByteLm(folder, absl::StrCat(command, " --help"));
    CHECK_EQ(help.code, 0);
    CHECK_MESSAGE(absl::StrContains(help.out, absl::StrCat("  byte_lm ", command, " ")), help.out);
  }
}

TEST_CASE("byte_lm: windows of a text become an array") {
  const TempFolder folder;
  WriteText(folder.File("text"), "abcdefghij");
  const Ran ran = ByteLm(folder, "windows text --begin 1 --length 4 --stride 2 -o windows.npy");
  CHECK_EQ(ran.code, 0);
  CHECK_EQ(ran.out, "wrote windows.npy  3 windows of 4 bytes\n");
  const absl::StatusOr<tools::NpyArray> array = tools::ReadNpy(folder.File("windows.npy"));
  REQUIRE(array.ok());
  CHECK_EQ(tools::NpyTypeName(array->header), "uint8");
  CHECK_EQ(array->header.shape, Shape{3, 4});
  const std::string bytes(array->data.bytes().begin(), array->data.bytes().end());
  CHECK_EQ(bytes, "bcdedefgfghi");
}

TEST_CASE("byte_lm: mistakes say what is wrong") {
  const TempFolder folder;
  WriteText(folder.File("text"), "abc");
  const Ran short_text = ByteLm(folder, "windows text --length 4 -o w.npy");
  CHECK_EQ(short_text.code, 2);
  CHECK_EQ(short_text.err, "byte_lm: a text of 3 bytes has no window of 4 bytes\n");
  const Ran behind = ByteLm(folder, "windows text --begin 3 -o w.npy");
  CHECK_EQ(behind.code, 2);
  CHECK_MESSAGE(absl::StrContains(behind.err, "'text' has 3 bytes"), behind.err);
  CHECK_EQ(ByteLm(folder, "windows missing -o w.npy").code, 3);
  CHECK_EQ(ByteLm(folder, "generate missing.oag --params p").code, 3);
  const Ran cold = ByteLm(folder, "generate missing.oag --params p --temperature -1");
  CHECK_EQ(cold.code, 2);
  CHECK_MESSAGE(absl::StrContains(cold.err, "the temperature must be 0 or above, not -1"),
                cold.err);
  CHECK_EQ(ByteLm(folder, "generate missing.oag --params p --prompt ''").code, 2);
}

}  // namespace
}  // namespace oa::examples
