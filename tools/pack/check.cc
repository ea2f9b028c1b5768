#include "tools/pack/check.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "schema/feature_names.h"
#include "schema/status_macros.h"

namespace oa::pack {
namespace {

absl::Status Wrong(absl::string_view sentence) { return absl::InvalidArgumentError(sentence); }

const char* KindName(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::kBuffer:
      return "a buffer";
    case ArgumentKind::kU32:
      return "a u32";
    case ArgumentKind::kF32:
      return "a float";
  }
  return "?";
}

absl::Status CheckField(const KernelArgument& argument, uint32_t offset, const BlockField& field) {
  const std::string who = absl::StrCat("argument '", argument.name, "' ");
  if (!field.name.empty() && field.name != argument.name) {
    return Wrong(absl::StrCat(who, "is called '", field.name, "' in the shader's block."));
  }
  if (field.kind != argument.kind) {
    return Wrong(absl::StrCat(who, "is ", KindName(argument.kind), " in the manifest and ",
                              KindName(field.kind), " in the shader."));
  }
  if (field.offset != offset) {
    return Wrong(absl::StrCat(who, "is expected at byte ", offset, ", the shader has it at byte ",
                              field.offset, "."));
  }
  if (argument.kind == ArgumentKind::kBuffer && field.access != argument.access) {
    return Wrong(absl::StrCat(who, "has access ", AccessName(argument.access),
                              " in the manifest and ", AccessName(field.access),
                              " in the shader (readonly, writeonly or neither)."));
  }
  return absl::OkStatus();
}

absl::Status CheckFields(absl::string_view block, const std::vector<KernelArgument>& arguments,
                         const std::vector<uint32_t>& offsets,
                         const std::vector<BlockField>& fields) {
  for (size_t i = 0; i < std::min(arguments.size(), fields.size()); ++i) {
    OA_RETURN_IF_ERROR(CheckField(arguments[i], offsets[i], fields[i]));
  }
  if (arguments.size() == fields.size()) return absl::OkStatus();
  return Wrong(absl::StrCat("the manifest declares ", arguments.size(), " fields of its ", block,
                            ", the shader has ", fields.size(), "."));
}

absl::Status CheckRecords(const Kernel& kernel, const ArgumentLayout& layout,
                          const ShaderInterface& shader) {
  if (kernel.records.empty() != !shader.has_records) {
    return Wrong(shader.has_records ? "the shader has records, the manifest declares none."
                                    : "the manifest declares records, the shader has none.");
  }
  if (kernel.records.empty()) return absl::OkStatus();
  OA_RETURN_IF_ERROR(CheckFields("record", kernel.records, layout.record_offsets, shader.records));
  if (layout.records_offset != shader.records_offset ||
      layout.record_stride != shader.record_stride) {
    return Wrong(absl::StrCat("records are expected at byte ", layout.records_offset, " every ",
                              layout.record_stride, " bytes, the shader has them at byte ",
                              shader.records_offset, " every ", shader.record_stride, "."));
  }
  return absl::OkStatus();
}

// The manifest may declare constants a variant does not use, never the reverse.
absl::Status CheckConstants(const Kernel& kernel, const ShaderInterface& shader) {
  for (const SpecConstant& constant : shader.constants) {
    const auto declared = absl::c_find_if(
        kernel.constants, [&](const KernelConstant& c) { return c.id == constant.id; });
    if (declared == kernel.constants.end()) {
      return Wrong(absl::StrCat("the shader's constant '", constant.name, "' with id ", constant.id,
                                " is not in the manifest."));
    }
    if (!constant.name.empty() && constant.name != declared->name) {
      return Wrong(absl::StrCat("the constant with id ", constant.id, " is '", declared->name,
                                "' in the manifest and '", constant.name, "' in the shader."));
    }
  }
  return absl::OkStatus();
}

// SPIR-V capabilities that a device may lack, and the profile feature that stands for each.
// Capabilities that OA requires of every device have no feature.
struct CapabilityRow {
  uint32_t capability;
  const char* feature;
};
constexpr CapabilityRow kCapabilities[] = {
    {1, nullptr},                       // Shader
    {61, nullptr},                      // GroupNonUniform: basic operations, in Vulkan 1.1
    {5347, nullptr},                    // PhysicalStorageBufferAddresses
    {9, "shader_float16"},              // Float16
    {10, "shader_float64"},             // Float64
    {11, "shader_int64"},               // Int64
    {22, "shader_int16"},               // Int16
    {39, "shader_int8"},                // Int8
    {62, "subgroup_vote"},              // GroupNonUniformVote
    {63, "subgroup_arithmetic"},        // GroupNonUniformArithmetic
    {64, "subgroup_ballot"},            // GroupNonUniformBallot
    {65, "subgroup_shuffle"},           // GroupNonUniformShuffle
    {66, "subgroup_shuffle_relative"},  // GroupNonUniformShuffleRelative
    {67, "subgroup_clustered"},         // GroupNonUniformClustered
    {4433, "storage_16bit"},            // StorageBuffer16BitAccess
    {4448, "storage_8bit"},             // StorageBuffer8BitAccess
    {5345, "vulkan_memory_model"},      // VulkanMemoryModel
    {5346, nullptr},                    // VulkanMemoryModelDeviceScope, with the model
    {5357, "cooperative_matrix_nv"},    // CooperativeMatrixNV
    {6019, "integer_dot_product"},      // DotProduct
    {6017, "integer_dot_product"},      // DotProductInput4x8Bit
    {6018, "integer_dot_product"},      // DotProductInput4x8BitPacked
    {6022, "cooperative_matrix_khr"},   // CooperativeMatrixKHR
    {6033, "atomic_float32_add"},       // AtomicFloat32AddEXT
};

constexpr bool FeaturesAreKnown() {
  for (const CapabilityRow& row : kCapabilities) {
    if (row.feature != nullptr && !IsFeatureName(row.feature)) return false;
  }
  return true;
}
static_assert(FeaturesAreKnown(), "no device reports a feature of kCapabilities");

absl::Status CheckCapabilities(const Kernel& kernel, const ShaderInterface& shader) {
  for (uint32_t capability : shader.capabilities) {
    const auto* row = absl::c_find_if(
        kCapabilities, [&](const CapabilityRow& r) { return r.capability == capability; });
    if (row == std::end(kCapabilities)) {
      return Wrong(absl::StrCat("the shader uses the SPIR-V capability ", capability,
                                ", which no device feature stands for."));
    }
    if (row->feature != nullptr && !absl::c_linear_search(kernel.features, row->feature)) {
      return Wrong(absl::StrCat("the shader needs the feature '", row->feature,
                                "', which the variant does not list under 'features'."));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckInterface(const Kernel& kernel, const ShaderInterface& shader) {
  const ArgumentLayout layout = LayoutArguments(kernel);
  OA_RETURN_IF_ERROR(
      CheckFields("argument block", kernel.arguments, layout.offsets, shader.arguments));
  OA_RETURN_IF_ERROR(CheckRecords(kernel, layout, shader));
  OA_RETURN_IF_ERROR(CheckConstants(kernel, shader));
  return CheckCapabilities(kernel, shader);
}

}  // namespace oa::pack
