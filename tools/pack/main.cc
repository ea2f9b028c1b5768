// oa-pack: checks compiled kernels against their manifests and packs them into one .oak file.
#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "schema/kernel_pack.h"
#include "tools/pack/pack.h"

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "oa-pack: %s\n", std::string(status.message()).c_str());
  return 1;
}

int List(const std::string& path) {
  const absl::StatusOr<oa::KernelPack> pack = oa::KernelPack::Load(path);
  if (!pack.ok()) return Fail(pack.status());
  std::fputs(oa::pack::ListPack(*pack).c_str(), stdout);
  return 0;
}

// Builds, saves and reads back: a pack that its own loader rejects must never leave the build.
int Build(const oa::pack::PackOptions& options, const std::string& output) {
  const absl::StatusOr<oa::KernelPack> pack = oa::pack::BuildPack(options);
  if (!pack.ok()) return Fail(pack.status());
  const absl::Status saved = pack->Save(output);
  if (!saved.ok()) return Fail(saved);
  const absl::StatusOr<oa::KernelPack> loaded = oa::KernelPack::Load(output);
  if (!loaded.ok()) {
    std::remove(output.c_str());
    return Fail(loaded.status());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Packs compiled kernels and their manifests into one file for the runtime.\n\n"
      "  oa-pack -o kernels.oak --spirv-dir build/spirv kernels/*/kernels.json\n"
      "  oa-pack --list kernels.oak");
  oa::pack::PackOptions options;
  std::string output, listed;
  app.add_option("-o,--output", output, "The pack to write");
  app.add_option("--spirv-dir", options.spirv_dir, "Folder with one <kernel>.spv per variant");
  app.add_option("--compiler", options.compiler, "Name and version of the shader compiler");
  app.add_option("--leave-out", options.left_out, "A variant this build could not compile")
      ->allow_extra_args(false);
  app.add_option("--list", listed, "Print the kernels of a pack and exit");
  app.add_option("manifests", options.manifests, "The kernels.json files");
  CLI11_PARSE(app, argc, argv);
  if (!listed.empty()) return List(listed);
  if (output.empty() || options.manifests.empty()) {
    std::fputs("oa-pack: name an output with -o and at least one manifest, or see --help.\n",
               stderr);
    return 2;
  }
  return Build(options, output);
}
