// Program creation: checks against pack and device, pipelines, the on-disk cache.
#include "executor/program.h"

#include <doctest/doctest.h>

#include <fstream>

#include "absl/strings/match.h"
#include "executor/pipeline_cache.h"
#include "tests/executor/fixture.h"

namespace oa::testing {
namespace {

using exec::Device;
using exec::Program;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteAll(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST_CASE("one pipeline a kernel and set of constants, with progress") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  for (unsigned threads : {0u, 1u, 8u}) {
    exec::ProgramOptions options;
    options.threads = threads;
    std::vector<int> done;
    options.on_progress = [&](int finished, int total) {
      CHECK(total == 3);
      done.push_back(finished);
    };
    const auto program = Program::Create(*device, ChainPlan(), TinyKernels(), options);
    REQUIRE_MESSAGE(program.ok(), program.status().ToString());
    CHECK(done == std::vector<int>{1, 2, 3});
    CHECK((*program)->stats().pipelines == 3);
    CHECK_FALSE((*program)->stats().cache_hit);
  }
  CHECK(device->live_objects() == 0);
}

TEST_CASE("a kernel the device cannot run is named with its dispatch") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  std::vector<Kernel> kernels = TinyKernels().kernels();
  for (Kernel& kernel : kernels) {
    if (kernel.name == "affine") kernel.features = {"telepathy"};
  }
  const auto program = Program::Create(*device, ChainPlan(), KernelPack(kernels, "glslc"));
  CHECK(absl::IsFailedPrecondition(program.status()));
  const std::string message(program.status().message());
  CHECK_MESSAGE(absl::StrContains(message, "dispatch 0 (affine, kernel affine)"), message);
  CHECK_MESSAGE(absl::StrContains(message, "telepathy"), message);
}

TEST_CASE("a missing kernel and a kernel of another build are refused") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  CHECK(absl::IsFailedPrecondition(Program::Create(*device, ChainPlan(), KernelPack()).status()));
  Plan plan = ChainPlan();
  plan.kernels[0].digest ^= 1;
  CHECK(absl::IsFailedPrecondition(Program::Create(*device, plan, TinyKernels()).status()));
}

TEST_CASE("a bundled pack is preferred") {
  const std::unique_ptr<Device> device = OpenDevice();
  if (device == nullptr) return;
  Plan plan = ChainPlan();
  plan.bundled_pack = Blob::Own(TinyKernels().Serialize());
  const auto program = Program::Create(*device, plan, KernelPack());
  REQUIRE_MESSAGE(program.ok(), program.status().ToString());
  plan.bundled_pack = Blob::Own({1, 2, 3});
  CHECK_FALSE(Program::Create(*device, plan, TinyKernels()).ok());
}

TEST_CASE("the pipeline cache is written, found again, and never believed when damaged") {
  const TemporaryFolder folder;
  exec::DeviceOptions options;
  options.cache_folder = folder.path() + "/a/b";
  const std::unique_ptr<Device> device = OpenDevice(options);
  if (device == nullptr) return;
  const auto hit = [&] {
    const auto program = Program::Create(*device, ChainPlan(), TinyKernels());
    REQUIRE_MESSAGE(program.ok(), program.status().ToString());
    return (*program)->stats().cache_hit;
  };
  const std::string path = exec::PipelineCachePath(options.cache_folder, device->info());
  CHECK_FALSE(hit());
  const std::string good = ReadAll(path);
  REQUIRE(good.size() > 48);
  CHECK(hit());
  for (size_t size = 0; size < good.size(); size += 7) {
    WriteAll(path, good.substr(0, size));
    CHECK(exec::ReadPipelineCache(options.cache_folder, device->info()).empty());
  }
  for (size_t i = 0; i < good.size(); i += 3) {
    std::string bad = good;
    bad[i] ^= 0x10;
    WriteAll(path, bad);
    CHECK(exec::ReadPipelineCache(options.cache_folder, device->info()).empty());
  }
  CHECK_FALSE(hit());
  CHECK(hit());
  exec::DeviceInfo updated = device->info();
  ++updated.driver_version;
  CHECK(exec::ReadPipelineCache(options.cache_folder, updated).empty());
}

TEST_CASE("a cache folder that cannot be made is no error") {
  exec::DeviceOptions options;
  options.cache_folder = "/dev/null/cache";
  const std::unique_ptr<Device> device = OpenDevice(options);
  if (device == nullptr) return;
  CHECK(Program::Create(*device, ChainPlan(), TinyKernels()).ok());
}

}  // namespace
}  // namespace oa::testing
