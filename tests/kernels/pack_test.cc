// oa-pack: what it reads from SPIR-V and which disagreements with a manifest it finds.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/device.h"
#include "tools/pack/check.h"
#include "tools/pack/manifest.h"
#include "tools/pack/spirv.h"

namespace oa::pack {
namespace {

ShaderInterface ReadKernel(const Kernel& kernel) {
  std::vector<uint32_t> words(kernel.spirv.size() / 4);
  std::memcpy(words.data(), kernel.spirv.bytes().data(), words.size() * 4);
  const absl::StatusOr<ShaderInterface> shader = ReadSpirv(words);
  REQUIRE_MESSAGE(shader.ok(), shader.status().ToString());
  return *shader;
}

const Kernel& Packed(const char* name) {
  const Kernel* kernel = oa::testing::TestKernels().Find(name);
  REQUIRE(kernel != nullptr);
  return *kernel;
}

// The message of a check that must fail.
std::string Complaint(const Kernel& kernel, const ShaderInterface& shader) {
  const absl::Status status = CheckInterface(kernel, shader);
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("pack: local size, shared memory and arguments come from the SPIR-V") {
  const Kernel& kernel = Packed("column_sum_f32");
  const ShaderInterface shader = ReadKernel(kernel);
  CHECK(shader.local_size == std::array<uint32_t, 3>{256, 1, 1});
  CHECK(shader.shared_bytes == 1024);
  CHECK(shader.arguments.size() == kernel.arguments.size());
  CHECK_FALSE(shader.has_records);
  CHECK(CheckInterface(kernel, shader).ok());
}

TEST_CASE("pack: every disagreement is found and named") {
  const Kernel& good = Packed("matmul_f32");
  const ShaderInterface shader = ReadKernel(good);
  Kernel bad = good;
  bad.arguments[0].access = Access::kWrite;
  CHECK(Contains(Complaint(bad, shader), "'a' has access w in the manifest and r in the shader"));
  bad = good;
  bad.arguments[2].kind = ArgumentKind::kF32;
  CHECK(Contains(Complaint(bad, shader), "'m' is a float in the manifest and a u32"));
  bad = good;
  bad.arguments.erase(bad.arguments.begin());
  CHECK_FALSE(Complaint(bad, shader).empty());
  bad = good;
  bad.arguments.pop_back();
  CHECK(Contains(Complaint(bad, shader), "fields of its argument block"));
  bad = good;
  bad.constants.erase(bad.constants.begin());
  CHECK(Contains(Complaint(bad, shader), "is not in the manifest"));
  bad = good;
  bad.records = {{"x", ArgumentKind::kBuffer, Access::kRead, 4, "1"}};
  CHECK(Contains(Complaint(bad, shader), "the manifest declares records"));
  ShaderInterface named = shader;
  named.arguments[1].name = "c";
  CHECK(Contains(Complaint(good, named), "'b' is called 'c'"));
  named = shader;
  named.constants[0].name = "other";
  CHECK(Contains(Complaint(good, named), "'other' in the shader"));
  named = shader;
  named.capabilities.push_back(63);
  CHECK(Contains(Complaint(good, named), "subgroup_arithmetic"));
}

TEST_CASE("pack: SPIR-V that is cut off or no SPIR-V is refused") {
  CHECK_FALSE(ReadSpirv({}).ok());
  CHECK_FALSE(ReadSpirv({1, 2, 3, 4, 5, 6}).ok());
  const Kernel& kernel = Packed("column_sum_f32");
  std::vector<uint32_t> words(kernel.spirv.size() / 4);
  std::memcpy(words.data(), kernel.spirv.bytes().data(), words.size() * 4);
  words.pop_back();
  words.back() = 0xffff0000;  // an instruction longer than the module
  CHECK_FALSE(ReadSpirv(words).ok());
}

TEST_CASE("manifest: arrays, extents, the epilogue and variants are expanded") {
  const absl::StatusOr<std::vector<Kernel>> kernels = ParseManifest(R"json([
    { "name": "k", "source": "k.comp",
      "arguments": [
        { "name": "x", "array": 2, "type": "u8", "access": "r", "extent": "n*(mode{i}==0)" },
        { "name": "n", "type": "u32" }, { "name": "s", "array": 2, "type": "float" } ],
      "constants": [ { "name": "mode", "id": 3, "array": 2 } ],
      "epilogue": true,
      "variants": [ { "suffix": "" },
                    { "suffix": "_cpu", "device": "cpu", "subgroup_size": 8, "tile": [4, 2] } ] }
  ])json",
                                                                    "test");
  REQUIRE_MESSAGE(kernels.ok(), kernels.status().ToString());
  REQUIRE(kernels->size() == 2);
  const Kernel& cpu = (*kernels)[1];
  CHECK(cpu.name == "k_cpu");
  CHECK(cpu.base == "k");
  CHECK(cpu.device == KernelDevice::kCpu);
  CHECK(cpu.tile == std::vector<uint32_t>{4, 2});
  CHECK(cpu.arguments[1].name == "x1");
  CHECK(cpu.arguments[1].extent == "n*(mode1==0)");
  CHECK(cpu.arguments[1].element_bytes == 1);
  CHECK(cpu.arguments[4].name == "s1");
  CHECK(cpu.arguments[5].name == "ein1");
  CHECK(cpu.arguments.back().name == "elen4");
  CHECK(cpu.constants[1].id == 4);
  CHECK(cpu.constants.back().name == "eoreg1");
  CHECK(cpu.constants.back().id == 84);
}

TEST_CASE("manifest: a prologue comes in front of the epilogue and has F32 inputs") {
  const absl::StatusOr<std::vector<Kernel>> kernels = ParseManifest(R"json([
    { "name": "k", "source": "k.comp", "arguments": [ { "name": "n", "type": "u32" } ],
      "prologue": true, "epilogue": true, "variants": [ { "suffix": "" } ] }
  ])json",
                                                                    "test");
  REQUIRE_MESSAGE(kernels.ok(), kernels.status().ToString());
  const Kernel& kernel = (*kernels)[0];
  CHECK(kernel.arguments[1].name == "pin0");
  CHECK(kernel.arguments[1].extent ==
        "(pcount*(pmode0==0)+max(plen0,1)*(pmode0!=0))*(pinputs>0)");
  CHECK(kernel.arguments[1].element_bytes == 4);
  CHECK(kernel.arguments[4].name == "pout1");
  CHECK(kernel.arguments[4].extent == "pcount*(poutputs>1)");
  CHECK(kernel.constants[0].id == 96);
  CHECK(kernel.constants.back().name == "eoreg1");
}

TEST_CASE("manifest: mistakes are named") {
  const struct {
    const char* json;
    const char* complaint;
  } rows[] = {
      {"{}", "not a JSON array"},
      {"[", "not a JSON array"},
      {R"([{ "name": "k" }])", "'source' is missing"},
      {R"([{ "name": "k", "source": "k", "variant": [] }])", "the key 'variant' is unknown"},
      {R"([{ "name": "k", "source": "k", "variants": [] }])", "no variants"},
      {R"([{ "name": "k", "source": "k", "variants": [{ "suffix": "", "device": "tpu" }] }])",
       "'device' is 'tpu'; known are any, gpu, cpu"},
      {R"([{ "name": "k", "source": "k", "variants": [{ "suffix": "",
             "features": ["subgroup_ballots"] }] }])",
       "no device reports the feature 'subgroup_ballots'; the closest names are"},
      {R"([{ "name": "k", "source": "k", "variants": [{ "suffix": "" }],
             "arguments": [{ "name": "x", "type": "f31", "access": "r", "extent": "1" }] }])",
       "'type' is 'f31'"},
      {R"([{ "name": "k", "source": "k", "variants": [{ "suffix": "" }],
             "arguments": [{ "name": "x", "type": "f32", "access": "r" }] }])",
       "'extent' is missing"},
      {R"([{ "name": "k", "source": "k", "variants": [{ "suffix": "" }],
             "constants": [{ "name": "c" }] }])",
       "'c' has no id"},
  };
  for (const auto& row : rows) {
    const absl::Status status = ParseManifest(row.json, "test").status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK_MESSAGE(Contains(std::string(status.message()), row.complaint), status.ToString());
  }
}

}  // namespace
}  // namespace oa::pack
