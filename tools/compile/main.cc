// oa-compile: graph -> plan. Needs no Vulkan: a device is a profile in a file.
#include <cstdio>
#include <memory>
#include <string>

#include "tools/common/run_main.h"
#include "tools/compile/compile.h"

int main(int argc, char** argv) {
  CLI::App app("Compiles a recorded graph (.oag) into a plan (.oax) for one device.", "oa-compile");
  oa::tools::SetUpApp(app);
  oa::tools::CompileFlags flags;
  oa::tools::AddCompileFlags(app, flags);
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) args = {"--help"};
  return oa::tools::RunMain(app, std::move(args), [&] { return oa::tools::CompileFile(flags); });
}
