#include "schema/kernel_pack.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "schema/closest_names.h"
#include "schema/container.h"
#include "schema/file_io.h"
#include "schema/flatbuffer_io.h"
#include "schema/kernel_pack_generated.h"
#include "schema/kernel_pack_verify.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

using ArgumentTables = flatbuffers::Vector<flatbuffers::Offset<fbs::KernelArgument>>;

std::vector<KernelArgument> ReadArguments(FieldReader& reader, const ArgumentTables* tables) {
  std::vector<KernelArgument> result;
  const size_t count = reader.Count(tables);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const fbs::KernelArgument* table = tables->Get(static_cast<flatbuffers::uoffset_t>(i));
    KernelArgument argument;
    argument.name = reader.Text(table->name());
    argument.kind = reader.Enum(table->kind(), ArgumentKind::kF32, "argument.kind");
    argument.access = reader.Enum(table->access(), Access::kReadWrite, "argument.access");
    argument.element_bytes = table->element_bytes();
    argument.extent = reader.Text(table->extent());
    result.push_back(std::move(argument));
  }
  return result;
}

Kernel ReadKernel(FieldReader& reader, const fbs::Kernel& table) {
  Kernel kernel;
  kernel.name = reader.Text(table.name());
  kernel.base = reader.Text(table.base());
  kernel.spirv = reader.Data(table.spirv(), "spirv");
  kernel.digest = table.digest();
  const std::vector<uint32_t> local_size = reader.Numbers(table.local_size());
  if (local_size.size() == 3) {
    absl::c_copy(local_size, kernel.local_size.begin());
  } else {
    reader.Fail(absl::StrCat("local_size has ", local_size.size(), " numbers, 3 are needed."));
  }
  kernel.shared_bytes = table.shared_bytes();
  kernel.arguments = ReadArguments(reader, table.arguments());
  kernel.records = ReadArguments(reader, table.records());
  const size_t constants = reader.Count(table.constants());
  for (size_t i = 0; i < constants && reader.ok(); ++i) {
    const auto* constant = table.constants()->Get(static_cast<flatbuffers::uoffset_t>(i));
    kernel.constants.push_back({reader.Text(constant->name()), constant->id()});
  }
  const size_t features = reader.Count(table.features());
  for (size_t i = 0; i < features && reader.ok(); ++i) {
    kernel.features.push_back(
        reader.Text(table.features()->Get(static_cast<flatbuffers::uoffset_t>(i))));
  }
  kernel.device = reader.Enum(table.device(), KernelDevice::kCpu, "device");
  kernel.subgroup_size = table.subgroup_size();
  kernel.tile = reader.Numbers(table.tile());
  return kernel;
}

flatbuffers::Offset<ArgumentTables> StoreArguments(flatbuffers::FlatBufferBuilder& builder,
                                                   const std::vector<KernelArgument>& arguments) {
  return TableVector<fbs::KernelArgument>(builder, arguments, [&](const KernelArgument& a) {
    const auto name = builder.CreateString(a.name);
    const auto extent = builder.CreateString(a.extent);
    return fbs::CreateKernelArgument(builder, name, static_cast<uint8_t>(a.kind),
                                     static_cast<uint8_t>(a.access), a.element_bytes, extent);
  });
}

flatbuffers::Offset<fbs::Kernel> StoreKernel(flatbuffers::FlatBufferBuilder& builder,
                                             ContainerWriter& writer, const Kernel& kernel) {
  const auto name = builder.CreateString(kernel.name);
  const auto base = builder.CreateString(kernel.base);
  const auto spirv = StoreBlob(builder, writer, kernel.spirv);
  const auto local_size = builder.CreateVector(kernel.local_size.data(), 3);
  const auto arguments = StoreArguments(builder, kernel.arguments);
  const auto records = StoreArguments(builder, kernel.records);
  const auto constants =
      TableVector<fbs::KernelConstant>(builder, kernel.constants, [&](const KernelConstant& c) {
        const auto constant_name = builder.CreateString(c.name);
        return fbs::CreateKernelConstant(builder, constant_name, c.id);
      });
  const auto features = builder.CreateVectorOfStrings(kernel.features);
  const auto tile = builder.CreateVector(kernel.tile);
  return fbs::CreateKernel(builder, name, base, spirv, kernel.digest, local_size,
                           kernel.shared_bytes, arguments, records, constants, features,
                           static_cast<uint8_t>(kernel.device), kernel.subgroup_size, tile);
}

void StorePack(flatbuffers::FlatBufferBuilder& builder, ContainerWriter& writer,
               const std::vector<Kernel>& kernels, const std::string& compiler) {
  const auto compiler_text = builder.CreateString(compiler);
  const auto tables = TableVector<fbs::Kernel>(
      builder, kernels, [&](const Kernel& k) { return StoreKernel(builder, writer, k); });
  fbs::FinishKernelPackBuffer(builder, fbs::CreateKernelPack(builder, compiler_text, tables));
}

absl::Span<const uint8_t> Finished(const flatbuffers::FlatBufferBuilder& builder) {
  return {builder.GetBufferPointer(), builder.GetSize()};
}

// Places `arguments` from `start` on; returns where the last one ends.
uint32_t Place(const std::vector<KernelArgument>& arguments, uint32_t start,
               std::vector<uint32_t>& offsets) {
  for (const KernelArgument& argument : arguments) {
    const uint32_t size = argument.kind == ArgumentKind::kBuffer ? 8 : 4;
    start = (start + size - 1) & ~(size - 1);
    offsets.push_back(start);
    start += size;
  }
  return start;
}

}  // namespace

const char* AccessName(Access access) {
  switch (access) {
    case Access::kRead:
      return "r";
    case Access::kWrite:
      return "w";
    case Access::kReadWrite:
      return "rw";
  }
  return "?";
}

ArgumentLayout LayoutArguments(const Kernel& kernel) {
  ArgumentLayout layout;
  const uint32_t end = Place(kernel.arguments, 0, layout.offsets);
  layout.records_offset = (end + 7) & ~7u;
  layout.record_stride = (Place(kernel.records, 0, layout.record_offsets) + 7) & ~7u;
  return layout;
}

KernelPack::KernelPack(std::vector<Kernel> kernels, std::string compiler)
    : kernels_(std::move(kernels)), compiler_(std::move(compiler)) {}

absl::StatusOr<KernelPack> KernelPack::Load(const std::string& path) {
  OA_ASSIGN_OR_RETURN(Blob file, ReadFile(path));
  return Parse(std::move(file), path);
}

absl::StatusOr<KernelPack> KernelPack::Parse(Blob file, const std::string& name) {
  OA_ASSIGN_OR_RETURN(const ContainerReader container,
                      ContainerReader::Parse(FileKind::kKernelPack, std::move(file), name));
  OA_ASSIGN_OR_RETURN(const fbs::KernelPack* root,
                      VerifiedRoot<fbs::KernelPack>(container, FileKind::kKernelPack));
  FieldReader reader(container);
  std::string compiler = reader.Text(root->compiler());
  std::vector<Kernel> kernels;
  const size_t count = reader.Count(root->kernels());
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    reader.Enter("kernels", i);
    kernels.push_back(
        ReadKernel(reader, *root->kernels()->Get(static_cast<flatbuffers::uoffset_t>(i))));
  }
  OA_RETURN_IF_ERROR(reader.Finish());
  OA_RETURN_IF_ERROR(VerifyKernels(kernels, name));
  return KernelPack(std::move(kernels), std::move(compiler));
}

std::vector<uint8_t> KernelPack::Serialize() const {
  flatbuffers::FlatBufferBuilder builder;
  ContainerWriter writer(FileKind::kKernelPack);
  StorePack(builder, writer, kernels_, compiler_);
  return writer.Serialize(Finished(builder));
}

absl::Status KernelPack::Save(const std::string& path) const {
  flatbuffers::FlatBufferBuilder builder;
  ContainerWriter writer(FileKind::kKernelPack);
  StorePack(builder, writer, kernels_, compiler_);
  return writer.Write(path, Finished(builder));
}

const Kernel* KernelPack::Find(absl::string_view name) const {
  for (const Kernel& kernel : kernels_) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

absl::StatusOr<const Kernel*> KernelPack::Select(absl::string_view base,
                                                 const DeviceProfile& profile) const {
  const Kernel* selected = nullptr;
  std::string rejected;
  std::vector<std::string> bases;
  for (const Kernel& kernel : kernels_) {
    if (kernel.base != base) {
      bases.push_back(kernel.base);
      continue;
    }
    const std::string reason = WhyNotRunnable(kernel, profile);
    if (reason.empty()) selected = &kernel;
    if (!reason.empty()) absl::StrAppend(&rejected, " '", kernel.name, "' ", reason, ".");
  }
  if (selected != nullptr) return selected;
  if (!rejected.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        "no variant of kernel '", base, "' runs on the device '", profile.name, "':", rejected));
  }
  return absl::UnimplementedError(absl::StrCat("the kernel pack has no kernel '", base, "'",
                                               ClosestNames(base, std::move(bases)), "."));
}

std::string WhyNotRunnable(const Kernel& kernel, const DeviceProfile& profile) {
  if (kernel.device == KernelDevice::kGpu && profile.is_cpu) return "needs a GPU";
  if (kernel.device == KernelDevice::kCpu && !profile.is_cpu) return "needs a CPU device";
  for (const std::string& feature : kernel.features) {
    if (!profile.Has(feature)) return absl::StrCat("needs the feature ", feature);
  }
  if (kernel.subgroup_size != 0 && kernel.subgroup_size != profile.subgroup_size) {
    return absl::StrCat(
        "needs subgroups of ", kernel.subgroup_size, ", the device has ",
        profile.subgroup_size == 0 ? "an unknown size" : absl::StrCat(profile.subgroup_size));
  }
  if (kernel.shared_bytes > profile.shared_memory_bytes) {
    return absl::StrCat("needs ", kernel.shared_bytes, " bytes of shared memory, the device has ",
                        profile.shared_memory_bytes);
  }
  uint64_t invocations = 1;
  for (uint32_t size : kernel.local_size) invocations *= size;
  if (invocations > profile.max_workgroup_invocations) {
    return absl::StrCat("needs ", invocations, " invocations per workgroup, the device has ",
                        profile.max_workgroup_invocations);
  }
  return "";
}

}  // namespace oa
