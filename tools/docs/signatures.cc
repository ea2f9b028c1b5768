#include "tools/docs/signatures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace oa::tools {
namespace {

// `text` with every run of spaces and line breaks as one space.
std::string Squeeze(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n\t"), absl::SkipEmpty()), " ");
}

// `declaration` is "Result<Matrix> add(..)" without a semicolon.
void AddDeclaration(const std::string& space, const std::string& declaration,
                    Signatures& signatures) {
  const size_t open = declaration.find('(');
  if (open == std::string::npos) return;
  const size_t before = declaration.rfind(' ', open);
  if (before == std::string::npos) return;
  const std::string name = declaration.substr(before + 1, open - before - 1);
  signatures[name].push_back(
      absl::StrCat(declaration.substr(0, before + 1), space, "::", declaration.substr(before + 1)));
}

}  // namespace

void AddSignatures(absl::string_view header, Signatures& signatures) {
  std::string space, declaration;
  for (absl::string_view line : absl::StrSplit(header, '\n')) {
    if (absl::ConsumePrefix(&line, "namespace ")) {
      space = std::string(line.substr(0, line.find(' ')));
      continue;
    }
    line = line.substr(0, line.find("//"));
    if (declaration.empty()) {
      absl::ConsumePrefix(&line, "inline ");
      if (!absl::StartsWith(line, "Result<")) continue;
    }
    absl::StrAppend(&declaration, line, " ");
    const size_t end = declaration.find_first_of(";{");
    if (end == std::string::npos) continue;
    AddDeclaration(space, Squeeze(absl::string_view(declaration).substr(0, end)), signatures);
    declaration.clear();
  }
}

absl::StatusOr<Signatures> ReadSignatures(const std::string& folder) {
  std::vector<std::filesystem::path> headers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".h") headers.push_back(entry.path());
  }
  if (headers.empty()) {
    return absl::NotFoundError(absl::StrCat("there are no headers in '", folder, "'"));
  }
  std::sort(headers.begin(), headers.end());
  Signatures signatures;
  for (const std::filesystem::path& path : headers) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    AddSignatures(text.str(), signatures);
  }
  return signatures;
}

}  // namespace oa::tools
