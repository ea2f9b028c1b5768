#include "schema/kernel_pack.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "schema/container.h"

namespace oa {
namespace {

// A header that passes for SPIR-V; `salt` makes kernels differ.
Blob FakeSpirv(uint8_t salt) {
  std::vector<uint8_t> code = {0x03, 0x02, 0x23, 0x07};
  code.resize(24);
  code[20] = salt;
  return Blob::Own(std::move(code));
}

KernelArgument Buffer(std::string name, Access access, std::string extent) {
  return {std::move(name), ArgumentKind::kBuffer, access, 4, std::move(extent)};
}

KernelArgument Scalar(std::string name, ArgumentKind kind = ArgumentKind::kU32) {
  return {std::move(name), kind, Access::kRead, 4, ""};
}

Kernel MakeKernel(const std::string& name, const std::string& base) {
  Kernel kernel;
  kernel.name = name;
  kernel.base = base;
  kernel.spirv = FakeSpirv(static_cast<uint8_t>(name.size()));
  kernel.digest = Digest(kernel.spirv.bytes());
  kernel.local_size = {64, 1, 1};
  kernel.arguments = {Buffer("x", Access::kRead, "count"), Buffer("y", Access::kWrite, "count"),
                      Scalar("count"), Scalar("alpha", ArgumentKind::kF32)};
  return kernel;
}

Kernel MakeRecordKernel() {
  Kernel kernel = MakeKernel("sgd_f32", "sgd_f32");
  kernel.arguments = {Scalar("rate", ArgumentKind::kF32), Scalar("record_count"), Scalar("groups")};
  kernel.records = {Buffer("w", Access::kReadWrite, "count * max(1, mode)"), Scalar("count")};
  kernel.constants = {{"mode", 3}};
  return kernel;
}

absl::Status ParseStatus(const Kernel& kernel) {
  return KernelPack::Parse(Blob::Own(KernelPack({kernel}, "c").Serialize()), "t.oak").status();
}

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a kernel pack survives the round trip") {
  Kernel kernel = MakeRecordKernel();
  kernel.shared_bytes = 1024;
  kernel.features = {"a", "b"};
  kernel.device = KernelDevice::kCpu;
  kernel.subgroup_size = 8;
  kernel.tile = {128, 64};
  const KernelPack pack({MakeKernel("scale_f32", "scale_f32"), kernel}, "glslc 1");
  const std::vector<uint8_t> file = pack.Serialize();
  const absl::StatusOr<KernelPack> back = KernelPack::Parse(Blob::Own(file), "t.oak");
  REQUIRE(back.ok());
  CHECK(back->Serialize() == file);
  CHECK(back->compiler() == "glslc 1");
  REQUIRE(back->Find("sgd_f32") != nullptr);
  CHECK(back->Find("nothing") == nullptr);
  const Kernel& k = *back->Find("sgd_f32");
  CHECK(k.records[0].extent == "count * max(1, mode)");
  CHECK(k.records[0].access == Access::kReadWrite);
  CHECK(k.constants[0].id == 3);
  CHECK(k.features == kernel.features);
  CHECK(k.device == KernelDevice::kCpu);
  CHECK(k.tile == kernel.tile);
  CHECK(k.spirv.size() == 24);
}

TEST_CASE("an empty kernel pack is legal") {
  CHECK(KernelPack::Parse(Blob::Own(KernelPack().Serialize()), "t.oak").ok());
}

TEST_CASE("wrong kernels are refused with their name") {
  const struct {
    const char* reason;
    std::function<void(Kernel&)> damage;
  } rows[] = {
      {"base", [](Kernel& k) { k.base = ""; }},
      {"local size",
       [](Kernel& k) {
         k.local_size = {0, 1, 1};
       }},
      {"local size",
       [](Kernel& k) {
         k.local_size = {1024, 2, 1};
       }},
      {"local size",
       [](Kernel& k) {
         k.local_size = {1u << 31, 1u << 31, 4};
       }},
      {"digest", [](Kernel& k) { k.digest ^= 1; }},
      {"SPIR-V", [](Kernel& k) { k.spirv = Blob(); }},
      {"SPIR-V", [](Kernel& k) { k.spirv = Blob::Own(std::vector<uint8_t>(22)); }},
      {"0x07230203", [](Kernel& k) { k.spirv = Blob::Own(std::vector<uint8_t>(24)); }},
      {"subgroup", [](Kernel& k) { k.subgroup_size = 12; }},
      {"elements of 3", [](Kernel& k) { k.arguments[0].element_bytes = 3; }},
      {"no extent", [](Kernel& k) { k.arguments[0].extent = ""; }},
      {"has an extent", [](Kernel& k) { k.arguments[2].extent = "1"; }},
      {"'cuont'", [](Kernel& k) { k.arguments[0].extent = "cuont"; }},
      {"'alpha'", [](Kernel& k) { k.arguments[0].extent = "alpha"; }},
      {"position", [](Kernel& k) { k.arguments[0].extent = "count *"; }},
      {"twice", [](Kernel& k) { k.arguments[1].name = "x"; }},
      {"twice",
       [](Kernel& k) {
         k.constants = {{"count", 1}};
       }},
      {"twice",
       [](Kernel& k) {
         k.constants = {{"a", 1}, {"b", 1}};
       }},
      {"no name", [](Kernel& k) { k.arguments[1].name = ""; }},
      {"record_count", [](Kernel& k) { k.records = {Scalar("n")}; }},
  };
  for (const auto& row : rows) {
    CAPTURE(row.reason);
    Kernel kernel = MakeKernel("scale_f32", "scale_f32");
    REQUIRE(ParseStatus(kernel).ok());
    row.damage(kernel);
    const absl::Status status = ParseStatus(kernel);
    CHECK(absl::IsDataLoss(status));
    CHECK(Mentions(status, row.reason));
    CHECK(Mentions(status, "kernels[0] 'scale_f32'"));
  }
  const Kernel kernel = MakeKernel("a", "a");
  const std::vector<uint8_t> twice = KernelPack({kernel, kernel}, "c").Serialize();
  CHECK(Mentions(KernelPack::Parse(Blob::Own(twice), "t").status(), "same name"));
}

TEST_CASE("unknown enum values are refused") {
  Kernel kernel = MakeKernel("a", "a");
  kernel.device = static_cast<KernelDevice>(3);
  CHECK(Mentions(ParseStatus(kernel), "kernels[0].device is 3"));
  kernel = MakeKernel("a", "a");
  kernel.arguments[0].kind = static_cast<ArgumentKind>(9);
  CHECK(absl::IsDataLoss(ParseStatus(kernel)));
}

TEST_CASE("an extent that fails with all scalars 1 is still a good extent") {
  Kernel kernel = MakeKernel("a", "a");
  kernel.arguments[0].extent = "count / (count - 1)";
  CHECK(ParseStatus(kernel).ok());
  kernel.arguments[0].extent = "count - 2";
  CHECK(ParseStatus(kernel).ok());
}

TEST_CASE("the last variant that runs is selected") {
  Kernel plain = MakeKernel("mm", "mm");
  Kernel subgroup = MakeKernel("mm_subgroup", "mm");
  subgroup.subgroup_size = 32;
  Kernel cpu = MakeKernel("mm_cpu", "mm");
  cpu.device = KernelDevice::kCpu;
  Kernel half = MakeKernel("mm_half", "mm");
  half.features = {"shader_float16"};
  const KernelPack pack({plain, subgroup, cpu, half, MakeKernel("other", "other")}, "c");

  DeviceProfile profile;
  const auto name = [&] { return (*pack.Select("mm", profile))->name; };
  CHECK(name() == "mm");
  profile.subgroup_size = 32;
  CHECK(name() == "mm_subgroup");
  profile.is_cpu = true;
  CHECK(name() == "mm_cpu");
  profile.features = {"shader_float16"};
  CHECK(name() == "mm_half");
}

TEST_CASE("when nothing fits the error says what is missing") {
  Kernel big = MakeKernel("mm_big", "mm_f32");
  big.shared_bytes = 33792;
  Kernel wide = MakeKernel("mm_wide", "mm_f32");
  wide.local_size = {32, 32, 1};
  Kernel gpu = MakeKernel("mm_gpu", "mm_f32");
  gpu.device = KernelDevice::kGpu;
  gpu.subgroup_size = 32;
  const KernelPack pack({big, wide, gpu}, "c");
  const absl::Status unfit = pack.Select("mm_f32", DeviceProfile()).status();
  CHECK(absl::IsUnimplemented(unfit));
  CHECK(Mentions(unfit, "'mm_big' needs 33792 bytes of shared memory, the device has 16384"));
  CHECK(Mentions(unfit, "'mm_wide' needs 1024 invocations"));
  CHECK(Mentions(unfit, "'mm_gpu' needs subgroups of 32, the device has an unknown size"));
  DeviceProfile cpu;
  cpu.is_cpu = true;
  CHECK(WhyNotRunnable(gpu, cpu) == "needs a GPU");

  const absl::Status absent = pack.Select("mm_f16", DeviceProfile()).status();
  CHECK(absl::IsUnimplemented(absent));
  CHECK(Mentions(absent, "no kernel 'mm_f16'; the closest names are 'mm_f32'."));
  CHECK(Mentions(KernelPack().Select("mm", DeviceProfile()).status(), "no kernel 'mm'."));
}

TEST_CASE("argument blocks are laid out as GLSL does") {
  Kernel kernel = MakeKernel("a", "a");
  kernel.arguments = {Scalar("count"), Buffer("x", Access::kRead, "count"), Scalar("a"),
                      Scalar("b"), Scalar("c")};
  const ArgumentLayout plain = LayoutArguments(kernel);
  CHECK(plain.offsets == std::vector<uint32_t>{0, 8, 16, 20, 24});
  CHECK(plain.records_offset == 32);
  CHECK(plain.record_stride == 0);
  CHECK(plain.Size(0) == 32);

  const ArgumentLayout records = LayoutArguments(MakeRecordKernel());
  CHECK(records.offsets == std::vector<uint32_t>{0, 4, 8});
  CHECK(records.records_offset == 16);
  CHECK(records.record_offsets == std::vector<uint32_t>{0, 8});
  CHECK(records.record_stride == 16);
  CHECK(records.Size(3) == 64);
}

TEST_CASE("a kernel pack cut or flipped anywhere is refused") {
  std::vector<uint8_t> file = KernelPack({MakeRecordKernel()}, "c").Serialize();
  for (size_t i = 0; i < file.size(); ++i) {
    const Blob cut = Blob::Own(std::vector<uint8_t>(file.begin(), file.begin() + i));
    if (KernelPack::Parse(cut, "t.oak").ok()) FAIL_CHECK("cut at ", i);
    file[i] ^= 0x10;
    if (KernelPack::Parse(Blob::Own(file), "t.oak").ok()) FAIL_CHECK("flipped ", i);
    file[i] ^= 0x10;
  }
}

}  // namespace oa
