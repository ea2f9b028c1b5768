// byte_lm: the two things that byte-level language models need besides oa-run. `byte_lm windows`
// cuts a text into an array that oa-run streams, `byte_lm generate` continues a prompt.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "frontend/examples/byte_lm/generate.h"
#include "frontend/examples/byte_lm/windows.h"
#include "schema/file_io.h"
#include "schema/status_macros.h"
#include "tools/common/exit_codes.h"
#include "tools/common/npy.h"
#include "tools/common/run_main.h"

namespace oa::examples {
namespace {

struct WindowOptions {
  std::string text, output;
  uint64_t begin = 0, end = UINT64_MAX, length = 65, stride = 16;
};

absl::StatusOr<int> WriteWindows(const WindowOptions& options) {
  OA_ASSIGN_OR_RETURN(const Blob text, ReadFile(options.text));
  const uint64_t end = std::min<uint64_t>(options.end, text.size());
  if (options.begin >= end) {
    return tools::UsageError("no bytes are left between --begin ", options.begin, " and --end ",
                             end, "; '", options.text, "' has ", text.size(), " bytes.");
  }
  OA_ASSIGN_OR_RETURN(const Windows windows,
                      CutWindows(text.bytes().subspan(options.begin, end - options.begin),
                                 options.length, options.stride));
  OA_RETURN_IF_ERROR(
      tools::WriteNpy(options.output, DType::U8, {windows.count, windows.length}, windows.bytes));
  std::printf("wrote %s  %llu windows of %llu bytes\n", options.output.c_str(),
              static_cast<unsigned long long>(windows.count),
              static_cast<unsigned long long>(windows.length));
  return tools::kExitOk;
}

absl::StatusOr<int> PrintText(const GenerateOptions& options) {
  OA_ASSIGN_OR_RETURN(const std::unique_ptr<Generator> generator, Generator::Create(options));
  std::fputs(options.prompt.c_str(), stdout);
  OA_RETURN_IF_ERROR(generator->Run([](uint8_t byte) {
    std::putchar(byte);
    std::fflush(stdout);
  }));
  std::putchar('\n');
  return tools::kExitOk;
}

void AddWindows(CLI::App& app, WindowOptions& options) {
  CLI::App* command = app.add_subcommand("windows", "Cut a text into overlapping windows");
  command->add_option("text", options.text, "A file; every byte of it counts")->required();
  command->add_option("-o,--output", options.output, "The .npy to write, U8 [windows, length]")
      ->required();
  command->add_option("--begin", options.begin, "First byte that is used (default 0)");
  command->add_option("--end", options.end, "Byte behind the last one that is used (default: all)");
  command->add_option("--length", options.length,
                      "Bytes of a window, one more than the model reads (default 65)");
  command->add_option("--stride", options.stride,
                      "Bytes between the beginnings of neighbours (default 16)");
  command->footer(
      "An incomplete last window is left out.\n"
      "Example:\n"
      "  byte_lm windows book.txt --end 49152 -o train.npy\n"
      "  oa-run transformer_train.oax --stream bytes=@train.npy --shuffle 7 \\\n"
      "         --epochs 2 --save-params transformer.safetensors");
}

void AddGenerate(CLI::App& app, GenerateOptions& options) {
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt with a trained model");
  command->add_option("model", options.model, "NAME_generate.oax or .oag")->required();
  command->add_option("--params", options.params, "What training saved")->required();
  command->add_option("--prompt", options.prompt,
                      "How the text begins (default \"We the People\")");
  command->add_option("--bytes", options.bytes, "How many bytes to add (default 300)");
  command->add_option("--temperature", options.temperature,
                      "0: always the most probable byte; above 1: more daring (default 0.6)");
  command->add_option("--seed", options.seed, "Equal seeds give equal texts (default 1)");
  command->add_option("--device", options.device,
                      "Index or part of the name, see `oa-run devices`");
  command->footer(
      "Example:\n"
      "  byte_lm generate transformer_generate.oax --params transformer.safetensors \\\n"
      "          --prompt \"The Congress shall\" --temperature 0.4");
}

}  // namespace
}  // namespace oa::examples

int main(int argc, char** argv) {
  CLI::App app("Data and text of byte-level language models.", "byte_lm");
  oa::tools::SetUpApp(app);
  app.require_subcommand(1);
  app.footer(oa::tools::kExitCodeHelp);
  oa::examples::WindowOptions windows;
  oa::examples::GenerateOptions generate;
  oa::examples::AddWindows(app, windows);
  oa::examples::AddGenerate(app, generate);
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) args = {"--help"};
  return oa::tools::RunMain(app, std::move(args), [&] {
    return app.got_subcommand("windows") ? oa::examples::WriteWindows(windows)
                                         : oa::examples::PrintText(generate);
  });
}
