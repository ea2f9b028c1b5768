#include "tools/common/run_main.h"

#include <algorithm>
#include <cstdio>
#include <new>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "schema/closest_names.h"
#include "schema/container.h"
#include "tools/common/exit_codes.h"

namespace oa::tools {
namespace {

// The subcommand that was chosen, or the program itself.
const CLI::App& ChosenApp(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : ChosenApp(*chosen.back());
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11's sentence in our form, with the nearest options when one was not known.
std::string ParseProblem(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  // "The following ..." -> "the following ...", but not "--steps: ...".
  if (text.size() > 1 && absl::ascii_islower(text[1])) text[0] = absl::ascii_tolower(text[0]);
  std::replace(text.begin(), text.end(), '\n', ' ');
  const CLI::App& chosen = ChosenApp(app);
  const size_t dashes = text.find(" --");
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && dashes != std::string::npos) {
    std::string name = text.substr(dashes + 1);
    name = name.substr(0, name.find_first_of(" ="));
    absl::StrAppend(&text, ClosestNames(name, OptionNames(chosen)));
  }
  const std::string command =
      &chosen == &app ? app.get_name() : absl::StrCat(app.get_name(), " ", chosen.get_name());
  return absl::StrCat(text, "; see '", command, " --help'.");
}

void PrintError(absl::string_view program, absl::string_view sentence) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", std::string(program).c_str(), std::string(sentence).c_str());
}

}  // namespace

void SetUpApp(CLI::App& app) {
  constexpr size_t kNamesWidth = 26;
  app.get_formatter()->column_width(kNamesWidth);
  app.set_version_flag("--version", VersionText(app.get_name()));
}

CLI::Option* AddRepeated(CLI::App& app, const std::string& flags, std::vector<std::string>& values,
                         const std::string& help) {
  return app.add_option(flags, values, help)->allow_extra_args(false);
}

int RunMain(CLI::App& app, std::vector<std::string> args,
            const std::function<absl::StatusOr<int>()>& action) {
  std::reverse(args.begin(), args.end());  // the order CLI11 wants
  try {
    app.parse(std::move(args));
  } catch (const CLI::Success& success) {
    return app.exit(success);  // prints --help or --version
  } catch (const CLI::ParseError& error) {
    PrintError(app.get_name(), ParseProblem(app, error));
    return kExitUsage;
  }
  // Sizes from files are checked before they are allocated; sizes from users may still be too much.
  try {
    const absl::StatusOr<int> code = action();
    return code.ok() ? *code : Fail(app.get_name(), code.status());
  } catch (const std::bad_alloc&) {
    PrintError(app.get_name(), "the host has too little memory for this; use smaller inputs.");
    return kExitDevice;
  }
}

int Fail(absl::string_view program, const absl::Status& status) {
  PrintError(program, status.message());
  return ExitCodeOf(status);
}

void PrintNote(absl::string_view program, absl::string_view sentence) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: note: %s\n", std::string(program).c_str(),
               std::string(sentence).c_str());
}

std::string VersionText(absl::string_view program) {
  return absl::StrCat(program, " ", OA_VERSION, " (file format ", kFormatMajor, ".", kFormatMinor,
                      ")");
}

std::string CommitText() { return OA_COMMIT; }

}  // namespace oa::tools
