#include "schema/kernel_pack_verify.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "schema/container.h"
#include "schema/extent_expr.h"
#include "schema/status_macros.h"

namespace oa {
namespace {

constexpr uint32_t kSpirvMagic = 0x07230203;
// No device runs larger workgroups.
constexpr uint64_t kMaxLocalSize = 1024;
// An argument block must stay small enough that its byte offsets fit 32 bits.
constexpr size_t kMaxArguments = 4096;

using NameSet = absl::flat_hash_set<absl::string_view>;

// Each function says what is wrong; VerifyKernels adds file and kernel.

absl::Status Wrong(absl::string_view sentence) { return absl::DataLossError(sentence); }

absl::Status CheckSpirv(const Kernel& kernel) {
  const absl::Span<const uint8_t> code = kernel.spirv.bytes();
  constexpr size_t kHeaderBytes = 20;
  if (code.size() % 4 != 0 || code.size() < kHeaderBytes) {
    return Wrong(absl::StrCat("its SPIR-V has ", code.size(),
                              " bytes, which is not a multiple of 4 of at least ", kHeaderBytes,
                              "."));
  }
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= uint32_t{code[i]} << (8 * i);
  if (word != kSpirvMagic) {
    return Wrong(absl::StrFormat("its SPIR-V starts with 0x%08x, not 0x%08x.", word, kSpirvMagic));
  }
  const uint64_t digest = Digest(code);
  if (digest != kernel.digest) {
    return Wrong(absl::StrFormat("its SPIR-V has digest %016x but %016x is declared.", digest,
                                 kernel.digest));
  }
  return absl::OkStatus();
}

absl::Status CheckArgument(const KernelArgument& argument) {
  if (argument.kind != ArgumentKind::kBuffer) {
    if (argument.extent.empty()) return absl::OkStatus();
    return Wrong(absl::StrCat("scalar argument '", argument.name, "' has an extent."));
  }
  constexpr uint32_t kElementBytes[] = {1, 2, 4, 8, 16};
  if (!absl::c_linear_search(kElementBytes, argument.element_bytes)) {
    return Wrong(absl::StrCat("buffer argument '", argument.name, "' has elements of ",
                              argument.element_bytes, " bytes; 1, 2, 4, 8 and 16 are allowed."));
  }
  if (argument.extent.empty()) {
    return Wrong(absl::StrCat("buffer argument '", argument.name, "' has no extent."));
  }
  return absl::OkStatus();
}

absl::Status AddName(NameSet& names, const std::string& name) {
  if (name.empty()) return Wrong("an argument or constant has no name.");
  if (names.insert(name).second) return absl::OkStatus();
  return Wrong(absl::StrCat("the name '", name, "' is used twice in its arguments and constants."));
}

// With every scalar 1 the value means nothing; what counts is that grammar and names are right.
absl::Status CheckExtents(const std::vector<KernelArgument>& arguments, const NameSet& scalars) {
  const ExtentScope scope = [&](absl::string_view name) -> std::optional<uint64_t> {
    if (scalars.contains(name)) return 1;
    return std::nullopt;
  };
  for (const KernelArgument& argument : arguments) {
    if (argument.kind != ArgumentKind::kBuffer) continue;
    const absl::Status status = EvaluateExtent(argument.extent, scope).status();
    if (absl::IsInvalidArgument(status)) {
      return Wrong(absl::StrCat("buffer argument '", argument.name, "': ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckInterface(const Kernel& kernel) {
  if (kernel.arguments.size() > kMaxArguments || kernel.records.size() > kMaxArguments) {
    return Wrong(absl::StrCat("it has ", kernel.arguments.size(), " arguments and ",
                              kernel.records.size(), " in a record; the limit of either is ",
                              kMaxArguments, "."));
  }
  NameSet names;
  NameSet scalars;
  bool has_count = false;
  for (const KernelConstant& constant : kernel.constants) {
    OA_RETURN_IF_ERROR(AddName(names, constant.name));
    scalars.insert(constant.name);
  }
  for (const KernelArgument& argument : kernel.arguments) {
    OA_RETURN_IF_ERROR(AddName(names, argument.name));
    OA_RETURN_IF_ERROR(CheckArgument(argument));
    if (argument.kind != ArgumentKind::kU32) continue;
    scalars.insert(argument.name);
    has_count |= argument.name == "record_count";
  }
  OA_RETURN_IF_ERROR(CheckExtents(kernel.arguments, scalars));
  if (kernel.records.empty()) return absl::OkStatus();
  if (!has_count) return Wrong("it has records but no u32 argument named 'record_count'.");
  for (const KernelArgument& argument : kernel.records) {
    OA_RETURN_IF_ERROR(AddName(names, argument.name));
    OA_RETURN_IF_ERROR(CheckArgument(argument));
    if (argument.kind == ArgumentKind::kU32) scalars.insert(argument.name);
  }
  return CheckExtents(kernel.records, scalars);
}

absl::Status CheckConstantIds(const Kernel& kernel) {
  absl::flat_hash_set<uint32_t> ids;
  for (const KernelConstant& constant : kernel.constants) {
    if (!ids.insert(constant.id).second) {
      return Wrong(absl::StrCat("the specialisation constant id ", constant.id, " of '",
                                constant.name, "' is used twice."));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckKernel(const Kernel& kernel) {
  if (kernel.name.empty() || kernel.base.empty()) return Wrong("its name or base is empty.");
  const auto [x, y, z] = kernel.local_size;
  const bool in_range = x >= 1 && x <= kMaxLocalSize && y >= 1 && y <= kMaxLocalSize && z >= 1 &&
                        uint64_t{x} * y * z <= kMaxLocalSize && z <= kMaxLocalSize;
  if (!in_range) {
    return Wrong(absl::StrCat("its local size is ", x, "x", y, "x", z,
                              "; the product must be from 1 to ", kMaxLocalSize, "."));
  }
  if ((kernel.subgroup_size & (kernel.subgroup_size - 1)) != 0) {
    return Wrong(
        absl::StrCat("its subgroup size is ", kernel.subgroup_size, ", not 0 or a power of two."));
  }
  OA_RETURN_IF_ERROR(CheckSpirv(kernel));
  OA_RETURN_IF_ERROR(CheckConstantIds(kernel));
  return CheckInterface(kernel);
}

}  // namespace

absl::Status VerifyKernels(const std::vector<Kernel>& kernels, const std::string& file) {
  NameSet names;
  for (size_t i = 0; i < kernels.size(); ++i) {
    absl::Status status = CheckKernel(kernels[i]);
    if (status.ok() && !names.insert(kernels[i].name).second) {
      status = Wrong("an earlier kernel has the same name.");
    }
    OA_RETURN_IF_ERROR(
        Annotate(status, absl::StrCat("'", file, "': kernels[", i, "] '", kernels[i].name, "'")));
  }
  return absl::OkStatus();
}

}  // namespace oa
