// The optional features that DeviceProfile::features and kernel manifests name. The executor
// reports nothing else, and oa-pack refuses kernels that ask for anything else.
#ifndef OA_SCHEMA_FEATURE_NAMES_H_
#define OA_SCHEMA_FEATURE_NAMES_H_

#include <string_view>

namespace oa {

inline constexpr std::string_view kFeatureNames[] = {
    "atomic_float32_add",
    "cooperative_matrix_khr",
    "cooperative_matrix_nv",
    "device_fault",
    "integer_dot_product",
    "memory_budget",
    "scalar_block_layout",
    "shader_float16",
    "shader_float64",
    "shader_int16",
    "shader_int64",
    "shader_int8",
    "storage_16bit",
    "storage_8bit",
    "subgroup_arithmetic",
    "subgroup_ballot",
    "subgroup_clustered",
    "subgroup_shuffle",
    "subgroup_shuffle_relative",
    "subgroup_vote",
    "vulkan_memory_model",
};

constexpr bool IsFeatureName(std::string_view name) {
  for (std::string_view known : kFeatureNames) {
    if (known == name) return true;
  }
  return false;
}

}  // namespace oa

#endif  // OA_SCHEMA_FEATURE_NAMES_H_
