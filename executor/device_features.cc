#include "executor/device_features.h"

#include <string_view>

#include "schema/feature_names.h"

namespace oa::exec {
namespace {

struct FeatureRow {
  const char* vulkan_name;
  const char* profile_name;  // null: required
  VkBool32& (*flag)(FeatureChain& chain);
};

#define OA_REQUIRED(structure, field)                                                \
  {                                                                                  \
#field, nullptr, [](FeatureChain & c) -> VkBool32& { return c.structure.field; } \
  }
#define OA_OPTIONAL(name, structure, field)                                       \
  {                                                                               \
#field, name, [](FeatureChain & c) -> VkBool32& { return c.structure.field; } \
  }
constexpr FeatureRow kFeatures[] = {
    OA_REQUIRED(v12, bufferDeviceAddress),
    OA_REQUIRED(v12, timelineSemaphore),
    OA_REQUIRED(v13, synchronization2),
    OA_REQUIRED(v13, maintenance4),
    OA_REQUIRED(v13, subgroupSizeControl),
    OA_OPTIONAL("atomic_float32_add", atomic_float, shaderBufferFloat32AtomicAdd),
    OA_OPTIONAL("cooperative_matrix_nv", cooperative_matrix_nv, cooperativeMatrix),
#ifdef VK_KHR_cooperative_matrix
    OA_OPTIONAL("cooperative_matrix_khr", cooperative_matrix_khr, cooperativeMatrix),
#endif
    OA_OPTIONAL("device_fault", fault, deviceFault),
    OA_OPTIONAL("integer_dot_product", v13, shaderIntegerDotProduct),
    OA_OPTIONAL("scalar_block_layout", v12, scalarBlockLayout),
    OA_OPTIONAL("shader_float16", v12, shaderFloat16),
    OA_OPTIONAL("shader_float64", core.features, shaderFloat64),
    OA_OPTIONAL("shader_int16", core.features, shaderInt16),
    OA_OPTIONAL("shader_int64", core.features, shaderInt64),
    OA_OPTIONAL("shader_int8", v12, shaderInt8),
    OA_OPTIONAL("storage_16bit", v11, storageBuffer16BitAccess),
    OA_OPTIONAL("storage_8bit", v12, storageBuffer8BitAccess),
    OA_OPTIONAL("vulkan_memory_model", v12, vulkanMemoryModel),
};
#undef OA_REQUIRED
#undef OA_OPTIONAL

struct SubgroupRow {
  const char* profile_name;
  VkSubgroupFeatureFlags operation;
};
constexpr SubgroupRow kSubgroupFeatures[] = {
    {"subgroup_arithmetic", VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
    {"subgroup_ballot", VK_SUBGROUP_FEATURE_BALLOT_BIT},
    {"subgroup_clustered", VK_SUBGROUP_FEATURE_CLUSTERED_BIT},
    {"subgroup_shuffle", VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
    {"subgroup_shuffle_relative", VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT},
    {"subgroup_vote", VK_SUBGROUP_FEATURE_VOTE_BIT},
};

// An extension is enough for the first; the headers may be too old for the second.
constexpr bool IsReported(std::string_view name) {
  if (name == "memory_budget" || name == "cooperative_matrix_khr") return true;
  for (const FeatureRow& row : kFeatures) {
    if (row.profile_name != nullptr && row.profile_name == name) return true;
  }
  for (const SubgroupRow& row : kSubgroupFeatures) {
    if (row.profile_name == name) return true;
  }
  return false;
}

constexpr bool ReportsExactlyTheKnown() {
  for (std::string_view name : kFeatureNames) {
    if (!IsReported(name)) return false;
  }
  for (const FeatureRow& row : kFeatures) {
    if (row.profile_name != nullptr && !IsFeatureName(row.profile_name)) return false;
  }
  for (const SubgroupRow& row : kSubgroupFeatures) {
    if (!IsFeatureName(row.profile_name)) return false;
  }
  return true;
}
static_assert(ReportsExactlyTheKnown(), "these tables and schema/feature_names.h differ");

// Extensions used when present. A driver with the last one demands that it be enabled.
constexpr const char* kExtensions[] = {
    VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME,
    VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
#ifdef VK_KHR_cooperative_matrix
    VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
#endif
    VK_EXT_DEVICE_FAULT_EXTENSION_NAME,
    VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
    "VK_KHR_portability_subset",
};

}  // namespace

void FeatureChain::Link(const ExtensionSet& extensions) {
  core.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = &v13;
  void** tail = &v13.pNext;
  auto append = [&](const char* extension, auto& structure) {
    if (!extensions.contains(extension)) return;
    *tail = &structure;
    tail = &structure.pNext;
  };
  append(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, atomic_float);
  append(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME, cooperative_matrix_nv);
  append(VK_EXT_DEVICE_FAULT_EXTENSION_NAME, fault);
#ifdef VK_KHR_cooperative_matrix
  append(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, cooperative_matrix_khr);
#endif
  *tail = nullptr;
}

void QueryFeatures(VkPhysicalDevice device, const ExtensionSet& extensions, FeatureChain& chain) {
  chain.Link(extensions);
  vkGetPhysicalDeviceFeatures2(device, &chain.core);
}

std::vector<std::string> MissingFeatures(FeatureChain& supported) {
  std::vector<std::string> missing;
  for (const FeatureRow& row : kFeatures) {
    if (row.profile_name == nullptr && !row.flag(supported)) missing.push_back(row.vulkan_name);
  }
  return missing;
}

std::vector<std::string> FeatureNames(FeatureChain& supported) {
  std::vector<std::string> names;
  for (const FeatureRow& row : kFeatures) {
    if (row.profile_name != nullptr && row.flag(supported)) names.push_back(row.profile_name);
  }
  return names;
}

std::vector<std::string> SubgroupFeatureNames(VkSubgroupFeatureFlags operations) {
  std::vector<std::string> names;
  for (const SubgroupRow& row : kSubgroupFeatures) {
    if ((operations & row.operation) != 0) names.push_back(row.profile_name);
  }
  return names;
}

void EnableFeatures(FeatureChain& supported, FeatureChain& enabled) {
  for (const FeatureRow& row : kFeatures) row.flag(enabled) = row.flag(supported);
}

std::vector<const char*> WantedExtensions(const ExtensionSet& available) {
  std::vector<const char*> wanted;
  for (const char* extension : kExtensions) {
    if (available.contains(extension)) wanted.push_back(extension);
  }
  return wanted;
}

}  // namespace oa::exec
