// oa-docs: writes the operator reference; the `docs` target calls it.
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/run_main.h"
#include "tools/docs/reference_page.h"

namespace oa::tools {
namespace {

absl::Status WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("'", path.string(), "' cannot be written"));
}

absl::StatusOr<int> WriteReference(const std::string& frontend, const std::string& output) {
  OA_ASSIGN_OR_RETURN(const Signatures signatures, ReadSignatures(frontend));
  std::error_code error;
  std::filesystem::create_directories(output, error);
  const std::filesystem::path folder(output);
  OA_RETURN_IF_ERROR(WriteText(folder / "operators.md", ReferenceMarkdown(signatures)));
  OA_RETURN_IF_ERROR(WriteText(folder / "operators.html", ReferenceHtml(signatures)));
  return kExitOk;
}

}  // namespace
}  // namespace oa::tools

int main(int argc, char** argv) {
  CLI::App app("Writes the operator reference as Markdown and HTML.", "oa-docs");
  oa::tools::SetUpApp(app);
  std::string frontend, output;
  app.add_option("--frontend", frontend, "Folder with the headers of the recording API")
      ->required();
  app.add_option("--output", output, "Folder for operators.md and operators.html")->required();
  return oa::tools::RunMain(app, std::vector<std::string>(argv + 1, argv + argc),
                            [&] { return oa::tools::WriteReference(frontend, output); });
}
